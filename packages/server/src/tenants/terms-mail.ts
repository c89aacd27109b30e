import { type Plan, plans } from '@indelible/protocol';
import {
  escapeHtml,
  linkButton,
  mailPage,
  oneLine,
  paragraph,
  small,
  table,
} from '../outbound/mail-page.ts';
import type { Locale } from './tenant-settings.ts';
import { termsMailTexts } from './terms-mail-texts.ts';

/**
 * A change that takes protection from what is recorded: a smaller plan, a hold that is lifted, or
 * both.
 */
export interface WeakerTerms {
  before: { plan: Plan; legalHold: boolean };
  after: { plan: Plan; legalHold: boolean };
  atMs: number;
  /** Until when what is hidden now is still kept. */
  keptUntilMs: number;
  /** E-mail of whoever changed it; null for a program. */
  by: string | null;
  reason: string | null;
}

export interface TermsMail extends WeakerTerms {
  locale: Locale;
  timeZone: string;
  tenantName: string;
  /** Page of the panel, which asks for a sign-in. */
  url: string;
}

/** Mail on weaker terms, as text and as HTML. The subject holds nothing but our own words. */
export function termsMail(mail: TermsMail): { subject: string; text: string; html: string } {
  const texts = termsMailTexts[mail.locale];
  const isLifted = mail.before.legalHold && !mail.after.legalHold;
  const isOther = mail.before.plan !== mail.after.plan;
  // A hold may be lifted together with a greater plan, which takes nothing away.
  const isSmaller = plans.indexOf(mail.after.plan) < plans.indexOf(mail.before.plan);
  const subject = isLifted ? texts.liftedSubject : texts.subject;
  const tenant = oneLine(mail.tenantName);
  const leads = (name: string) => [
    ...(isLifted ? [texts.lifted(name)] : []),
    ...(isSmaller ? [texts.smaller(name)] : []),
  ];
  const facts = factsOf(mail, isLifted, isOther);
  const text = [
    leads(tenant).join('\n'),
    facts.map(([label, value]) => `${label}: ${value}`).join('\n'),
    effectOf(mail),
    texts.next,
    `${texts.open}:\n${mail.url}`,
    texts.footer,
  ].join('\n\n');
  const html = mailPage(mail.locale, subject, [
    ...leads(`<bdi>${escapeHtml(tenant)}</bdi>`).map(paragraph),
    table(facts),
    ...[effectOf(mail), texts.next].map(paragraph),
    linkButton(mail.url, texts.open),
    small(texts.footer),
  ]);
  return { subject, text: `${text}\n`, html };
}

/** What it means for the events, as our own words. */
function effectOf({ locale, timeZone, after, keptUntilMs }: TermsMail): string {
  const texts = termsMailTexts[locale];
  if (after.legalHold) return texts.held;
  const day = { year: 'numeric', month: 'long', day: 'numeric', timeZone } as const;
  const until = new Intl.DateTimeFormat(locale, day).format(keptUntilMs);
  return texts.hidden(texts.shows[after.plan], until);
}

function factsOf(mail: TermsMail, isLifted: boolean, isOther: boolean): [string, string][] {
  const { locale, timeZone, before, after, atMs, by, reason } = mail;
  const texts = termsMailTexts[locale];
  const day = { year: 'numeric', month: 'long', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;
  const moment = new Intl.DateTimeFormat(locale, { ...day, ...time, timeZone });
  const facts: [string, string | null][] = [
    [texts.plan, isOther ? `${before.plan} → ${after.plan}` : null],
    [texts.hold, isLifted ? texts.liftedWord : null],
    [texts.at, moment.format(atMs)],
    [texts.by, by ?? texts.service],
    [texts.reason, reason],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, oneLine(value)]]));
}
