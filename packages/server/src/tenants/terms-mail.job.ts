import { type Locale, type Plans, panelHome } from '@indelible/protocol';
import {
  composeMail,
  type Mail,
  type MailContent,
  mailTexts,
  mailTime,
} from '../outbound/mail-page.ts';
import { quoted } from '../outbound/plain-line.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import { handleTenantMail } from './tenant-mail.ts';
import { hasOtherEmails, hasShorterPlan, planOf, type TenantSettings } from './tenant-settings.ts';

/** A change and its recipients: the addresses before and after it. */
export interface TermsNotice extends WeakerTerms {
  tenantId: string;
  to: string[];
}

/** Queues the notice, to be sent after `tx` has committed; no notice without recipients. */
export async function sendTermsNotice(
  { jobs }: Parts,
  tx: WriterTx,
  notice: TermsNotice,
): Promise<void> {
  const { tenantId, to } = notice;
  if (to.length > 0) await jobs.send(tx, 'tenant-mail', { data: notice, tenantId });
}

/** Mail about smaller plans, lifted holds and other addresses. */
export function handleTermsMail(parts: Parts): void {
  const { plans, publicUrl } = parts;
  handleTenantMail<TermsNotice>(parts, 'tenant-mail', async (tenant, { to, ...change }) => {
    const { locale, timeZone, name: tenantName } = tenant;
    const url = `${publicUrl()}${panelHome}?resource=tenant`;
    return {
      to,
      isNotice: true,
      ...termsMail(plans, { ...change, locale, timeZone, tenantName, url }),
    };
  });
}

type Terms = Pick<TenantSettings, 'plan' | 'legalHold' | 'notifyEmails'>;

/** A change that reduces protection: a smaller plan, a lifted hold, other notified addresses. */
interface WeakerTerms {
  before: Terms;
  after: Terms;
  atMs: number;
  /** Until when events that are hidden now are kept. */
  keptUntilMs: number;
  /** E-mail of the person who made the change; null for a program. */
  by: string | null;
  reason: string | null;
}

export interface TermsMail extends WeakerTerms {
  locale: Locale;
  timeZone: string;
  tenantName: string;
  /** Page of the panel, which requires sign-in. */
  url: string;
}

/** Mail about reduced protection. */
export function termsMail(plans: Plans, mail: TermsMail): Mail {
  const { locale, tenantName, url } = mail;
  const texts = mailTexts[locale].terms;
  const isLifted = mail.before.legalHold && !mail.after.legalHold;
  // A hold may be lifted together with a larger plan, which reduces nothing.
  const isSmaller = hasShorterPlan(plans, mail.before, mail.after);
  const isWeaker = isLifted || isSmaller;
  const hasOthers = hasOtherEmails(mail.before, mail.after);
  return composeMail({
    locale,
    subject: isLifted ? texts.liftedSubject : isSmaller ? texts.subject : texts.emailsSubject,
    tenantName,
    leads: (about) => [
      ...(isLifted ? [texts.lifted(about)] : []),
      ...(isSmaller ? [texts.smaller(about)] : []),
      ...(hasOthers ? [texts.emails(about)] : []),
    ],
    facts: factsOf(mail, isLifted),
    next: [...(isWeaker ? [effectOf(plans, mail)] : []), texts.next],
    open: texts.open,
    url,
  });
}

/** The effect of the change on the events. */
function effectOf(plans: Plans, { locale, timeZone, after, keptUntilMs }: TermsMail): string {
  const texts = mailTexts[locale].terms;
  if (after.legalHold) return texts.held;
  const day = { year: 'numeric', month: 'long', day: 'numeric', timeZone } as const;
  const until = new Intl.DateTimeFormat(locale, day).format(keptUntilMs);
  const { keeps } = planOf(plans, after);
  const events =
    'days' in keeps
      ? texts.olderDays({ count: keeps.days })
      : texts.olderYears({ count: keeps.years });
  return texts.hidden({ events, until });
}

function factsOf(mail: TermsMail, isLifted: boolean): MailContent['facts'] {
  const { locale, timeZone, before, after, atMs, by, reason } = mail;
  const texts = mailTexts[locale].terms;
  const addresses = [before, after].map(({ notifyEmails }) => notifyEmails.join(', ') || '–');
  return [
    [texts.plan, before.plan === after.plan ? null : `${before.plan} → ${after.plan}`],
    [texts.hold, isLifted ? texts.liftedWord : null],
    [texts.told, hasOtherEmails(before, after) ? addresses.join(' → ') : null],
    [texts.at, mailTime(atMs, locale, timeZone)],
    [texts.by, by ?? texts.service],
    [texts.reason, reason && quoted(reason)],
  ];
}
