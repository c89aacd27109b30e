import type { Locale } from '@indelible/protocol';
import {
  composeMail,
  type Mail,
  type MailContent,
  mailTexts,
  mailTime,
} from '../outbound/mail-page.ts';
import { quoted } from '../outbound/plain-line.ts';
import { countMax, type LogFacts, type VisitsForReason } from './facts.store.ts';
import type { Period } from './period.ts';

export interface TenantDigest {
  tenant: { name: string; locale: Locale; timeZone: string };
  period: Period;
  facts: LogFacts;
  /** The service has stopped recording and signing. */
  isHalted: boolean;
  /** Address of the panel's pages. */
  root: string;
}

const operatorsMax = 10;
const reasonsMax = 5;

/** Counts, operators, and the reasons they declared; no other text of an event. */
export function tenantDigest({ tenant, period, facts, isHalted, root }: TenantDigest): Mail {
  const { locale, timeZone } = tenant;
  const t = mailTexts[locale].digest;
  const days = daysOf(period, locale, timeZone);
  const range = rangeOf(period);
  const number = new Intl.NumberFormat(locale);
  const counted = upTo(countMax, number);
  const unexplained = visitsOf(facts.visits.filter(({ reason }) => reason === null));
  const visits = `${root}/operator-access?${range}`;
  return composeMail({
    locale,
    subject: t.subject(days),
    tenantName: tenant.name,
    leads: ({ tenant: name }) => [t.lead({ tenant: name, ...days })],
    facts: [
      [t.visits, number.format(visitsOf(facts.visits)), visits],
      [t.unexplained, number.format(unexplained), `${visits}&has_reason=false`],
      ...operatorFacts(facts.visits, locale),
      [t.alerts, counted(facts.alerts), `${root}/alerts`],
      [t.exports, counted(facts.exports), `${root}/events?action=access&resource=export&${range}`],
      [t.verification, verification(facts, isHalted, locale, timeZone), `${root}/integrity`],
    ],
    next: [t.next],
    open: t.open,
    url: `${root}/events?${range}`,
  });
}

function operatorFacts(all: readonly VisitsForReason[], locale: Locale): MailContent['facts'] {
  const t = mailTexts[locale].digest;
  const operators = [...Map.groupBy(all, ({ email }) => email)];
  const shown = operators.slice(0, operatorsMax).map(([email, visits]): [string, string] => {
    const reasons = visits.flatMap(({ reason }) => (reason === null ? [] : [quoted(reason)]));
    const more = reasons.length > reasonsMax ? ['…'] : [];
    const by = t.by({ operator: email ?? t.unknown, count: visitsOf(visits) });
    return [t.operator, [by, ...reasons.slice(0, reasonsMax), ...more].join(' · ')];
  });
  const left = operators.length - shown.length;
  return left > 0 ? [...shown, [t.operator, t.more({ count: left })]] : shown;
}

function verification(
  { entries, checkpoint }: LogFacts,
  isHalted: boolean,
  locale: Locale,
  timeZone: string,
): string {
  const t = mailTexts[locale].digest;
  if (isHalted) return t.halted;
  if (checkpoint === null) return t.unsigned;
  const at = mailTime(checkpoint.signedAtMs, locale, timeZone);
  return t.signed({ covered: checkpoint.size, entries, at });
}

/** What the operator's digest counts of a tenant. */
export interface TenantCounts {
  tenantName: string;
  visits: number;
  unexplained: number;
  alerts: number;
  exports: number;
  /** 1 for a log that grew without a checkpoint for more than an hour. */
  unsigned: number;
}

const hourMs = 3_600_000;

export function countsOf(
  tenantName: string,
  { visits, alerts, exports, entries, checkpoint }: LogFacts,
  nowMs: number,
): TenantCounts {
  const { size = 0, signedAtMs = 0 } = checkpoint ?? {};
  const unsigned = Number(entries > size && signedAtMs < nowMs - hourMs);
  const unexplained = visitsOf(visits.filter(({ reason }) => reason === null));
  return { tenantName, visits: visitsOf(visits), unexplained, alerts, exports, unsigned };
}

const tenantsMax = 30;

/**
 * Sums over all tenants; only visits are told by tenant: what operators did themselves. In English
 * and UTC: an operator has no settings of their own.
 */
export function operatorDigest(
  tenants: readonly TenantCounts[],
  period: Period,
  isHalted: boolean,
  root: string,
): Mail {
  const t = mailTexts.en.digest;
  const days = daysOf(period, 'en', 'UTC');
  const number = new Intl.NumberFormat('en');
  const sum = (key: Exclude<keyof TenantCounts, 'tenantName'>) =>
    tenants.reduce((all, each) => all + each[key], 0);
  const visited = tenants.filter(({ visits }) => visits > 0);
  const most = visited.toSorted((a, b) => b.visits - a.visits).slice(0, tenantsMax);
  return composeMail({
    locale: 'en',
    subject: t.everyTenant.subject(days),
    tenantName: '',
    leads: () => [t.everyTenant.lead(days)],
    facts: [
      [t.everyTenant.tenants, number.format(tenants.length)],
      [t.visits, number.format(sum('visits'))],
      [t.unexplained, number.format(sum('unexplained'))],
      ...most.map((each): [string, string] => [
        t.everyTenant.tenant,
        t.everyTenant.visited({ ...each, tenant: each.tenantName }),
      ]),
      [t.alerts, number.format(sum('alerts'))],
      [t.exports, number.format(sum('exports'))],
      [t.verification, isHalted ? t.halted : t.everyTenant.unsigned({ count: sum('unsigned') })],
    ],
    next: [t.everyTenant.next],
    open: t.everyTenant.open,
    url: `${root}/events`,
  });
}

function visitsOf(rows: readonly { visits: number }[]): number {
  return rows.reduce((sum, { visits }) => sum + visits, 0);
}

function upTo(max: number, { format }: Intl.NumberFormat): (count: number) => string {
  return (count) => (count > max ? `${format(max)}+` : format(count));
}

/** The first and the last day, in words. */
function daysOf({ fromMs, toMs }: Period, locale: Locale, timeZone: string) {
  const day = { year: 'numeric', month: 'long', day: 'numeric', timeZone } as const;
  const format = new Intl.DateTimeFormat(locale, day);
  return { from: format.format(fromMs), to: format.format(toMs - 1) };
}

function rangeOf({ fromMs, toMs }: Period): string {
  const iso = (ms: number) => encodeURIComponent(new Date(ms).toISOString());
  return `from=${iso(fromMs)}&to=${iso(toMs)}`;
}
