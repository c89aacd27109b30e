import { composeMail, type Locale, type Mail, mailTexts, mailTime } from '../outbound/index.ts';

/** What the mail tells of a webhook that the service paused because deliveries failed. */
export interface FailingMail {
  locale: Locale;
  timeZone: string;
  tenantName: string;
  /** Null for one without a name. */
  name: string | null;
  /** Without path and query: those may hold what only the receiver should know. */
  host: string;
  /** The receiver answered 410. */
  isGone: boolean;
  reason: string | null;
  attempts: number;
  pausedAtMs: number;
  behind: number;
  /** Page of the webhooks in the panel, which asks for a sign-in. */
  url: string;
}

/** Mail on a webhook that the service paused. */
export function failingMail(mail: FailingMail): Mail {
  const { locale, tenantName, url } = mail;
  const texts = mailTexts[locale].webhookPaused;
  const number = new Intl.NumberFormat(locale);
  return composeMail({
    locale,
    subject: texts.subject,
    tenantName,
    leads: (tenant) => [mail.isGone ? texts.gone(tenant) : texts.lead(tenant)],
    facts: [
      [texts.name, mail.name],
      [texts.receiver, mail.host],
      [texts.reason, mail.reason],
      [texts.attempts, number.format(mail.attempts)],
      [texts.at, mailTime(mail.pausedAtMs, locale, mail.timeZone)],
      [texts.behind, texts.entries(number.format(mail.behind))],
    ],
    next: [texts.next],
    open: texts.open,
    url,
  });
}
