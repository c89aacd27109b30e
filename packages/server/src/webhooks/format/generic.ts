import { isSuccess } from '../../outbound/answers.ts';
import { fine, post, said, statusVerdict } from './answers.ts';
import type { MessageFormat, MessageTarget } from './message-format.ts';
import { credentialProblem, oneOf, soundCredential, urlCheck } from './value-checks.ts';

/**
 * Unchanged events for collectors of JSON over HTTP: one array, or one event a line (NDJSON,
 * ndjson.org), to exactly the configured URL. The sender signs each message by
 * standardwebhooks.com; a credential is sent as the complete `Authorization`. Any 2xx means that
 * all events were accepted. The health check is an empty message.
 */
export const generic = {
  options: { body: oneOf('array', 'ndjson') },
  credential: 'optional',
  isSigned: true,
  messageBytesMax: 4_000_000,
  credentialProblem,
  urlProblem: urlCheck(),
  deliver: (target, { events }) => message(target, events),
  judge,
  health: (target) => message(target, []),
} satisfies MessageFormat;

function message({ url, credential, options }: MessageTarget, events: readonly string[]) {
  const isNdjson = options.body === 'ndjson';
  const headers = {
    ...(isNdjson && { 'content-type': 'application/x-ndjson' }),
    ...(credential !== null && {
      authorization: soundCredential(credential, credentialProblem),
    }),
  };
  const body = isNdjson ? events.map(lineOf).join('') : `[${events.join(',')}]`;
  return post(url, body, headers);
}

/**
 * Escapes Unicode line breaks that JSON allows, because line readers of some languages split at
 * them.
 */
function lineOf(event: string): string {
  return `${event.replace(/[\u0085\u2028\u2029]/g, escaped)}\n`;
}

const escaped = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

function judge(status: number, text: string) {
  if (isSuccess(status)) return fine;
  return statusVerdict('the receiver', status, said(text, 100));
}
