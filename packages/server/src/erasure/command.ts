import { setTimeout as pause } from 'node:timers/promises';
import type { WithholdableSegment } from '@indelible/protocol';
import { archiveTmpDir } from '../archive/command.ts';
import { takeArchiveLock } from '../archive/store.ts';
import { type Config, type Environment, readConfig } from '../config.ts';
import { createRandom } from '../crypto/random.ts';
import { sha } from '../crypto/sha256.ts';
import { publishedCheckpoint } from '../log/checkpoint.store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { type OwnerSession, tenantIn } from '../postgres/db.ts';
import { runAsOwner, withMigratedSession } from '../postgres/run-as-owner.ts';
import { recordOwnIn } from '../record/own-events.store.ts';
import { createUuidSource } from '../record/uuid-source.ts';
import { readTerms } from '../retention/terms.store.ts';
import { certificateOf, type OffboardingCertificate } from './certificate.ts';
import { type Erased, type ErasureDeps, type ErasurePlan, ErasureRefused, erase } from './erase.ts';
import type { BundleFacts, Requester } from './erasure-event.ts';
import { type Offboarding, readOffboarding } from './offboard.store.ts';
import { offboard } from './offboard.ts';
import { planActor, planEvent, requireTenant } from './plan.ts';

/** A person's identity (UUID or e-mail), or one segment of an event. */
export type ErasureTarget =
  | { tenantId: string; actor: string }
  | { tenantId: string; eventId: string; segment: WithholdableSegment };

/**
 * `indelible erase`, dry run: what would be erased. Runs as the owner: of DATABASE_OWNER_URL, or of
 * the embedded PostgreSQL, which a service may be using. Throws an Error with a sentence for the
 * operator, like the calls below.
 */
export function erasurePlan(env: Environment, target: ErasureTarget): Promise<ErasurePlan> {
  return withEraser(env, {}, (owner) => planOf(owner, target));
}

/** `indelible erase --actor|--event`: erases what the plan names, see `erase`. */
export function eraseNow(
  env: Environment,
  target: ErasureTarget,
  requester: Requester,
  changes: Partial<ErasureDeps> = {},
): Promise<Erased> {
  return withEraser(env, changes, async (owner, deps) => {
    const plan = await planOf(owner, target);
    return erase(owner, deps, plan, requester);
  });
}

function planOf(owner: OwnerSession, target: ErasureTarget): Promise<ErasurePlan> {
  const { tenantId } = target;
  if ('actor' in target) return planActor(owner, tenantId, target.actor);
  return planEvent(owner, tenantId, target.eventId, target.segment);
}

/** The result of an offboarding; the certificate follows when a checkpoint covers its record. */
export interface Offboarded {
  offboarding: Offboarding;
  certificate: OffboardingCertificate | null;
}

/** A tenant's offboarding, finished or in progress; null if there is none. */
export function offboardingOf(env: Environment, tenantId: string): Promise<Offboarding | null> {
  return asEraser(readConfig(env), async (owner) => {
    await requireTenant(owner, tenantId);
    return readOffboarding(owner, tenantId);
  });
}

/**
 * `indelible erase --tenant …`: offboards a tenant whose bundle was made. `publish` signs a
 * checkpoint; without it a running service does that, within ten seconds.
 */
export function offboardTenant(
  env: Environment,
  request: { tenantId: string; bundle: BundleFacts } & Requester,
  {
    publish = async () => {},
    checkpointWaitMs = 20_000,
    ...changes
  }: { publish?: () => Promise<void>; checkpointWaitMs?: number } & Partial<ErasureDeps> = {},
): Promise<Offboarded> {
  return withEraser(env, changes, async (owner, deps) => {
    const offboarding = await offboard(owner, deps, request);
    const { tenantId, record } = offboarding;
    await publish();
    const checkpoint = await checkpointOver(owner, tenantId, record, checkpointWaitMs);
    const name = (await readTerms(owner, [tenantId])).get(tenantId)?.name ?? '';
    const certificate = checkpoint === null ? null : certificateOf(offboarding, name, checkpoint);
    return { offboarding, certificate };
  });
}

/** The first checkpoint that covers an entry. */
async function checkpointOver(
  owner: OwnerSession,
  tenantId: string,
  sequence: number,
  waitMs: number,
): Promise<string | null> {
  for (let waited = 0; ; waited += 500) {
    const log = await publishedCheckpoint(tenantIn(owner, tenantId));
    const checkpoint = log?.checkpoint ?? null;
    if (checkpoint !== null && checkpoint.size > sequence) return checkpoint.note;
    if (waited >= waitMs) return null;
    await pause(500);
  }
}

function withEraser<T>(
  env: Environment,
  changes: Partial<ErasureDeps>,
  work: (owner: OwnerSession, deps: ErasureDeps) => Promise<T>,
): Promise<T> {
  const config = readConfig(env);
  return asEraser(config, async (owner) => {
    const deps = { ...(await erasureDeps(owner, config, changes.now)), ...changes };
    return work(owner, deps);
  });
}

async function erasureDeps(
  owner: OwnerSession,
  config: Config,
  now: () => number = owner.now,
): Promise<ErasureDeps> {
  // Held to the end: an archive run in parallel could write events that it read before the erasure.
  if (!(await takeArchiveLock(owner))) {
    throw new ErasureRefused('the archive is being written: retry when it has finished');
  }
  const objects = openObjectStore(config.objectStoreUrl);
  return {
    sha,
    now,
    objects,
    newUuid: createUuidSource(createRandom()),
    recordOwn: await recordOwnIn(owner, config.catalogue, now),
    tmpDir: () => archiveTmpDir(config.dataDir),
  };
}

function asEraser<T>(config: Config, work: (owner: OwnerSession) => Promise<T>): Promise<T> {
  const run = (ownerUrl: string) => withMigratedSession(ownerUrl, work);
  return runAsOwner(
    config,
    'erasing did not end; run the same command again when this is mended',
    run,
    {
      refusal: ErasureRefused,
    },
  );
}
