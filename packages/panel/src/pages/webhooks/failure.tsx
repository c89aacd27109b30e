import { type CallFailure, callFailures, hostNotCalled } from '@indelible/protocol';
import { type Texts, useTexts } from '../../i18n/texts.tsx';

interface FailureProps {
  /** Of the answer; null without one. */
  status: number | null;
  /** In the words of the service; null if the call did not fail. */
  reason: string | null;
}

/** Why a call failed. What only the receiver can say stays in its own words. */
export function Failure({ status, reason }: FailureProps) {
  const w = useTexts().webhooks;
  if (reason === null) return null;
  const { text, words } = failureText(w, status, reason);
  return (
    <span className="wrap-anywhere">
      {text}
      {words && (
        <span lang="en" dir="auto" className="block">
          {words}
        </span>
      )}
    </span>
  );
}

/** The failure in the reader's language, and the service's own words if they say more. */
export function failureText(
  { failures }: Texts['webhooks'],
  status: number | null,
  reason: string,
) {
  if (status === null) {
    const known = Object.entries(callFailures).find(([, clause]) => reason.startsWith(clause));
    const [name, clause] = known ?? ['failed', ''];
    const text = failures[name as CallFailure];
    // The time or the code after the clause is the same in every language.
    return known
      ? { text: text + reason.slice(clause.length), words: null }
      : { text, words: reason };
  }
  const { answered } = failures;
  const names = [String(status), `${Math.floor(status / 100)}xx`];
  const found = Object.entries(answered).find(([name]) => names.includes(name));
  const [, sentence] = found ?? ['other', answered.other];
  return { text: sentence({ status: String(status) }), words: saysNoMore(reason) ? null : reason };
}

/** Why a restore failed, in the reader's language if the panel knows the reason. */
export function restoreFailure(w: Texts['webhooks'], reason: string): string {
  const [, status] = / answered (\d{3})/.exec(reason) ?? [];
  const clause = reason.replace(hostNotCalled, '');
  const { text, words } = failureText(w, status === undefined ? null : Number(status), clause);
  return status === undefined && words !== null ? reason : text;
}

/** Texts of the service about a status alone end with it, or are those of a plain webhook. */
const saysNoMore = (reason: string) =>
  /(\(|answered )\d{3}\)?$/.test(reason) || reason.startsWith('the receiver answered');
