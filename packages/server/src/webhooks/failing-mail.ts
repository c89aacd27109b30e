import {
  escapeHtml,
  linkButton,
  mailPage,
  oneLine,
  paragraph,
  small,
  table,
} from '../outbound/mail-page.ts';
import { failingMailTexts } from './failing-mail-texts.ts';

/** What is told of a webhook that was paused because nothing got through. */
export interface FailingMail {
  locale: keyof typeof failingMailTexts;
  timeZone: string;
  tenantName: string;
  /** Null for one without a name. */
  name: string | null;
  /** Without path and query: those may hold what only the receiver should know. */
  host: string;
  /** The receiver said that it wants no more. */
  isGone: boolean;
  reason: string | null;
  attempts: number;
  pausedAtMs: number;
  behind: number;
  /** Page of the webhooks in the panel, which asks for a sign-in. */
  url: string;
}

/** The mail as text and as HTML. The subject holds nothing but our own words. */
export function failingMail(mail: FailingMail): { subject: string; text: string; html: string } {
  const texts = failingMailTexts[mail.locale];
  const { subject, next, open, footer } = texts;
  const lead = mail.isGone ? texts.gone : texts.lead;
  const tenant = oneLine(mail.tenantName);
  const facts = factsOf(mail);
  const text = [
    lead(tenant),
    facts.map(([label, value]) => `${label}: ${value}`).join('\n'),
    next,
    `${open}:\n${mail.url}`,
    footer,
  ].join('\n\n');
  const html = mailPage(mail.locale, subject, [
    paragraph(lead(`<bdi>${escapeHtml(tenant)}</bdi>`)),
    table(facts),
    paragraph(next),
    linkButton(mail.url, open),
    small(footer),
  ]);
  return { subject, text: `${text}\n`, html };
}

function factsOf(mail: FailingMail): [label: string, value: string][] {
  const { locale, timeZone } = mail;
  const texts = failingMailTexts[locale];
  const day = { year: 'numeric', month: 'long', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
  const moment = new Intl.DateTimeFormat(locale, { ...day, ...time, timeZone });
  const number = new Intl.NumberFormat(locale);
  const facts: [string, string | null][] = [
    [texts.name, mail.name],
    [texts.receiver, mail.host],
    [texts.reason, mail.reason],
    [texts.attempts, number.format(mail.attempts)],
    [texts.at, moment.format(mail.pausedAtMs)],
    [texts.behind, texts.entries(number.format(mail.behind))],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, oneLine(value)]]));
}
