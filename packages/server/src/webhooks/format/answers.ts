import { isRedirect, isSuccess, lineOf } from '../../outbound/answers.ts';
import type { FormatVerdict } from './message-format.ts';

/** The receiver's answer as one short line; `''` if it is unreadable. */
export function said(text: unknown, max = 300): string {
  if (typeof text !== 'string') return '';
  const line = lineOf(text);
  return line.length > max ? `${line.slice(0, max)}…` : line;
}

export const post = (url: string, body: string, headers: Record<string, string> = {}) => ({
  method: 'POST' as const,
  url,
  body,
  headers: { 'content-type': 'application/json', ...headers },
});

export const get = (url: string, headers: Record<string, string>) => ({
  method: 'GET' as const,
  url,
  headers,
  body: '',
});

export const fine: FormatVerdict = { ok: true };
export const failed = (reason: string): FormatVerdict => ({ ok: false, reason });

/**
 * The meaning of an answer that is not the product's success, for all receivers. Omits the
 * receiver's words if it refused the credential, because it may repeat it.
 */
export function statusVerdict(receiver: string, status: number, words = ''): FormatVerdict {
  if (isSuccess(status)) return failed(`the server at this address is not ${receiver} (${status})`);
  if (isRedirect(status)) {
    return failed(`${receiver} redirected the call (${status}), which is never followed`);
  }
  const meaning = meanings[status] ?? `answered ${status}`;
  const added = words !== '' && status !== 401 && status !== 403 ? `: ${words}` : '';
  return failed(`${receiver} ${meaning}${added}`);
}

const meanings: Record<number, string> = {
  400: 'cannot read the message (400)',
  401: 'does not accept the credential (401)',
  403: 'does not allow this with the credential given (403)',
  404: 'has nothing at this address (404)',
  408: 'waited too long for the message (408)',
  410: 'says that this address no longer exists (410)',
  413: 'says that the message is too large (413)',
  425: 'asks to retry later (425)',
  429: 'asks for fewer messages (429)',
  503: 'is busy (503)',
};
