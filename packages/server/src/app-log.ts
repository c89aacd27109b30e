import { createMasker } from '@indelible/protocol';
import type { Logger } from 'pino';
import { recordLooks } from './access/record-looks.ts';
import type { Config } from './config.ts';
import { sha } from './crypto/sha256.ts';
import { type Signer, signingKeyFileOf } from './crypto/signer.ts';
import { getEvent, visibility } from './events/store.ts';
import { CheckpointJob, type CheckpointObserver } from './log/checkpoint.job.ts';
import { openOrigin } from './log/checkpoint.store.ts';
import { keyAnnouncer } from './log/key-rotation.ts';
import type { ObjectStore } from './objects/object-store.ts';
import { freeBytes } from './operations/disk-space.ts';
import type { Metrics } from './operations/metrics.ts';
import type { Resolve } from './outbound/outbound-names.ts';
import type { RecordQueued } from './own-event.ts';
import type { Clock } from './postgres/clock.ts';
import { type Database, readTenant, record, write } from './postgres/db.ts';
import { announcePartitions, makePartitions } from './postgres/partitions.store.ts';
import { GroupCommit } from './record/flush.ts';
import { openOwnEvents, recordOwnQueued, recordOwnWith } from './record/own-events.store.ts';
import { createPartitionKeeper, type PartitionWanted } from './record/partitions.ts';

/* The parts of `buildApp` that append to the logs and sign them. */

/** What a service is made of. `sessionSecret` seals cursors and secrets at rest; ≥ 32 bytes. */
export interface AppDeps {
  config: Config;
  db: Database;
  clock: Clock;
  logger: Logger;
  sessionSecret: string;
  objects: ObjectStore;
  signer: Signer;
  /** Where the panel's files are; the folder of `npm run build` unless told otherwise. */
  panelFolder?: string;
  /** How names of receivers are looked up; the system's way unless told otherwise. */
  resolve?: Resolve;
  /** How often a request may have the logs signed; see `CheckpointDeps`. */
  demandEveryMs?: number;
}

/**
 * Everything that appends to a log: the queue for producers, and what the service records itself.
 */
export async function wireRecording(
  { config, db, clock: { now } }: AppDeps,
  metrics: Metrics,
  onFlush: () => void,
) {
  const make = (wanted: PartitionWanted) => record(db, (tx) => makePartitions(tx, [wanted]));
  const partitions = createPartitionKeeper(make, () => record(db, announcePartitions));
  const flushed = (events: number, seconds: number) => {
    metrics.flush.flushed(events, seconds);
    onFlush();
  };
  const observer = { ...metrics.flush, flushed };
  const groupCommit = new GroupCommit({
    db,
    sha,
    now,
    plans: config.catalogue.plans,
    partitions,
    observer,
    queueBytesMax: config.queueBytesMax,
    waitMs: config.roomWaitMs,
  });
  metrics.watchQueue(() => groupCommit.depth());
  metrics.watchDisk(() => freeBytes(config));
  const own = await openOwnEvents(db.writer, config.catalogue, now);
  const recordQueued = recordOwnQueued(own, groupCommit);
  const isRecorded = (tenantId: string, uuid: string) =>
    readTenant(db, tenantId, async (tx) => {
      const visible = await visibility(tx, now());
      return visible !== null && (await getEvent(uuid, visible)) !== null;
    });
  const recordAccess = recordLooks(recordQueued, isRecorded, now);
  const recordOwn = recordOwnWith({ ...own, partitions });
  const masker = createMasker(config.maskedKeys);
  const { backdatedMs } = config;
  return { ...own, db, backdatedMs, masker, groupCommit, recordQueued, recordAccess, recordOwn };
}

/** Signing: the origin's host is set once, the key in use is known to the logs. */
export async function wireCheckpoints(deps: AppDeps, metrics: Metrics, recordQueued: RecordQueued) {
  const { config, db, objects, signer, logger } = deps;
  const { now } = deps.clock;
  const host = config.publicUrl ? new URL(config.publicUrl).host : 'localhost';
  const originHost = await write(db, (tx) => openOrigin(tx, config.logOrigin ?? host));
  if (config.logOrigin !== null && config.logOrigin !== originHost) {
    throw new Error(
      `LOG_ORIGIN is ${config.logOrigin}, but the logs have the origin ${originHost}: set ` +
        'LOG_ORIGIN to it',
    );
  }
  const observer: CheckpointObserver = {
    ...metrics.checkpoints,
    roundFailed(err) {
      metrics.checkpoints.roundFailed(err);
      logger.error({ err }, 'no checkpoint could be published; recording continues');
    },
    foreignObject(sentence) {
      metrics.checkpoints.foreignObject(sentence);
      logger.error(sentence);
    },
    publishedAgain(rounds) {
      logger.warn(`rounds were missing in the object store and are published again: ${rounds}`);
    },
    storeLost(reason) {
      metrics.checkpoints.storeLost(reason);
      if (reason === null) logger.warn('the object store is back; signing continues');
      else logger.error(`store_lost: nothing is signed, recording continues: ${reason}`);
    },
    halted(reason) {
      metrics.checkpoints.halted(reason);
      if (reason === null) logger.warn('recording and signing continue');
      else logger.fatal(reason);
    },
  };
  const { isNamed } = signingKeyFileOf(config);
  const announceKey = keyAnnouncer({ db, now, recordQueued, signer, isNamed });
  return new CheckpointJob({
    db,
    sha,
    now,
    objects,
    signer,
    originHost,
    announceKey,
    observer,
    demandEveryMs: deps.demandEveryMs,
  });
}
