import { type CallFailure, callFailures, hostNotCalled } from '@indelible/protocol';
import type { Texts } from './texts.ts';

type FailureTexts = Texts['panel']['webhooks']['failures'];

/**
 * Why a call failed, in the reader's language, and the service's own words if they say more.
 * `status` is that of the answer; null without one.
 */
export function failureText(texts: FailureTexts, status: number | null, reason: string) {
  if (status === null) {
    const known = Object.entries(callFailures).find(([, clause]) => reason.startsWith(clause));
    const [name, clause] = known ?? ['failed', ''];
    const text = texts[name as CallFailure];
    // The time or the code after the clause is the same in every language.
    return known
      ? { text: text + reason.slice(clause.length), words: null }
      : { text, words: reason };
  }
  const names = [String(status), `${Math.floor(status / 100)}xx`];
  const found = Object.entries(texts.answered).find(([name]) => names.includes(name));
  const [, sentence] = found ?? ['other', texts.answered.other];
  return { text: sentence({ status: String(status) }), words: saysNoMore(reason) ? null : reason };
}

/** Why a restore failed, in the reader's language if the reason is known. */
export function restoreFailure(texts: FailureTexts, reason: string): string {
  const [, status] = / answered (\d{3})/.exec(reason) ?? [];
  const clause = reason.replace(hostNotCalled, '');
  const { text, words } = failureText(texts, status === undefined ? null : Number(status), clause);
  return status === undefined && words !== null ? reason : text;
}

/** Texts of the service about a status alone end with it, or are those of a plain webhook. */
const saysNoMore = (reason: string) =>
  /(\(|answered )\d{3}\)?$/.test(reason) || reason.startsWith('the receiver answered');
