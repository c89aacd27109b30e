import type { Locale } from '@indelible/protocol';
import { composeMail, type Mail, mailTexts, mailTime } from '../outbound/index.ts';

/** The facts of a webhook that the service paused after failed deliveries. */
export interface FailingMail {
  locale: Locale;
  timeZone: string;
  tenantName: string;
  /** Null without a name. */
  name: string | null;
  /** Without path and query, which may contain secrets of the receiver. */
  host: string;
  /** The receiver answered 410. */
  isGone: boolean;
  reason: string | null;
  attempts: number;
  pausedAtMs: number;
  behind: number;
  /** Page of the webhooks in the panel, which requires sign-in. */
  url: string;
}

/** Mail about a webhook that the service paused. */
export function failingMail(mail: FailingMail): Mail {
  const { locale, tenantName, url } = mail;
  const texts = mailTexts[locale].webhookPaused;
  const number = new Intl.NumberFormat(locale);
  return composeMail({
    locale,
    subject: texts.subject,
    tenantName,
    leads: (about) => [mail.isGone ? texts.gone(about) : texts.lead(about)],
    facts: [
      [texts.name, mail.name],
      [texts.receiver, mail.host],
      [texts.reason, mail.reason],
      [texts.attempts, number.format(mail.attempts)],
      [texts.at, mailTime(mail.pausedAtMs, locale, mail.timeZone)],
      [texts.behind, texts.entries({ count: mail.behind })],
    ],
    next: [texts.next],
    open: texts.open,
    url,
  });
}
