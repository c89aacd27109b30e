import { nilUuid, panelRoot } from '@indelible/protocol';
import { haltReason } from '../log/checkpoint.store.ts';
import type { Parts } from '../parts.ts';
import { readTenant, writeInBackground } from '../postgres/db.ts';
import { getTenant, listTenants } from '../tenants/store.ts';
import { countsOf, operatorDigest, type TenantCounts, tenantDigest } from './digest-mail.ts';
import { logFacts } from './facts.store.ts';
import { nextPeriod, type Period, runningSince } from './period.ts';
import {
  type DigestReader,
  operatorReader,
  takeUntil,
  tenantsWithDigest,
} from './readers.store.ts';

interface DigestParts extends Parts {
  /** Who gets the digest over all tenants; empty for none. */
  operatorEmails: readonly string[];
}

type DigestJob = Period & { tenantId: string | null };

/**
 * Queues the digests of periods that are over. The end of the period and its job are written in one
 * transaction: each period has one job, whatever crashes and however many processes run this.
 */
async function queueDigests(parts: DigestParts): Promise<boolean> {
  const { db, now, operatorEmails } = parts;
  const readers = await tenantsWithDigest(db.background, now());
  if (operatorEmails.length > 0) readers.push(await operatorReader(db.background));
  for (const reader of readers) await queueFor(parts, reader, now());
  return true;
}

/** Every period that is over, one after the other. */
async function queueFor(parts: DigestParts, reader: DigestReader, nowMs: number): Promise<void> {
  const { tenantId, frequency, timeZone, untilMs } = reader;
  const period = untilMs === null ? null : nextPeriod(frequency, timeZone, untilMs, nowMs);
  if (untilMs !== null && period === null) return;
  const toMs = period?.toMs ?? runningSince(frequency, timeZone, nowMs);
  const isTaken = await writeInBackground(parts.db, async (tx) => {
    if (!(await takeUntil(tx, reader, toMs))) return false;
    const job = { tenantId: tenantId ?? nilUuid, data: { tenantId, ...period } };
    if (period) await parts.jobs.send(tx, 'digest-mail', job);
    return true;
  });
  if (isTaken) await queueFor(parts, { ...reader, untilMs: toMs }, nowMs);
}

/** Handles the mails; returns the background work that queues them. */
export function openDigests(parts: DigestParts): () => Promise<boolean> {
  parts.jobs.handle<DigestJob>('digest-mail', ({ id, data: { tenantId, ...period }, signal }) =>
    tenantId === null
      ? mailOperator(parts, id, period, signal)
      : mailTenant(parts, id, tenantId, period),
  );
  return () => queueDigests(parts);
}

async function mailTenant(
  { db, now, mailer, publicUrl }: DigestParts,
  id: string,
  tenantId: string,
  period: Period,
): Promise<void> {
  const { tenant, facts } = await readTenant(db, tenantId, async (tx) => ({
    tenant: await getTenant(tx),
    facts: await logFacts(tx, period, now()),
  }));
  // Meanwhile closed, switched off, or without addresses.
  if (!tenant || !facts || tenant.closedAtMs || tenant.digest === 'none') return;
  if (tenant.notifyEmails.length === 0) return;
  const isHalted = (await haltReason(db, 10_000)) !== null;
  const root = `${publicUrl()}${panelRoot}`;
  const mail = tenantDigest({ tenant, period, facts, isHalted, root });
  await mailer.send({ id, to: tenant.notifyEmails, ...mail });
}

const tenantsAtOnce = 500;

/** Over all tenants that have not left, page by page. */
async function mailOperator(
  parts: DigestParts,
  id: string,
  period: Period,
  signal: AbortSignal,
): Promise<void> {
  const { db, now, mailer, publicUrl, operatorEmails } = parts;
  const counts: TenantCounts[] = [];
  for (let from: string | null = nilUuid; from !== null; ) {
    const start: string = from;
    const page = await writeInBackground(db, (tx) => listTenants(tx, start, tenantsAtOnce + 1));
    for (const { id: tenantId, name, closedAtMs } of page.slice(0, tenantsAtOnce)) {
      signal.throwIfAborted();
      if (closedAtMs) continue;
      const facts = await readTenant(db, tenantId, (tx) => logFacts(tx, period, now()));
      if (facts) counts.push(countsOf(name, facts, now()));
    }
    from = page[tenantsAtOnce]?.id ?? null;
  }
  const isHalted = (await haltReason(db, 10_000)) !== null;
  const mail = operatorDigest(counts, period, isHalted, `${publicUrl()}${panelRoot}`);
  await mailer.send({ id, to: operatorEmails, ...mail });
}
