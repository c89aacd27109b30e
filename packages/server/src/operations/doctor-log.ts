import { existsSync } from 'node:fs';
import { sha } from '../crypto/sha256.ts';
import { openSigner, type SigningKeyFile } from '../crypto/signer.ts';
import { roundsNow, signingKeys } from '../log/checkpoint.store.ts';
import { decodedEntries, LogDamaged } from '../log/entries.store.ts';
import { storeProblem } from '../log/lost-rounds.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { type Database, readTenant, withDatabase } from '../postgres/db.ts';
import { messageOf } from '../postgres/embedded/error-code.ts';
import { readersBehind } from './doctor.store.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/**
 * Checks the logs as the serving login sees them: whether they are stopped, problems of the object
 * store, and whether this process may sign. The schema must be up to date. Findings are returned,
 * not thrown.
 */
export async function diagnoseLog(
  servingUrl: string,
  keyFile: SigningKeyFile,
  objects: ObjectStore,
): Promise<Finding[]> {
  return withDatabase(servingUrl, async (db) => {
    const { halted, alarm } = await roundsNow(db.writer);
    const keys = await signingKeys(db.reader);
    const inUse = keys.find(({ notAfterMs }) => notAfterMs === null)?.publicKey ?? null;
    // Looked at now: an operator who restores an object must see that it is enough.
    const problem = alarm ?? (await storeFault(db, objects));
    const logs = halted === null ? await readersFinding(db) : fail('logs', halted);
    return [logs, storeFinding(problem), await keyFinding(inUse, keyFile)];
  }).catch((error) => [fail('logs', `cannot be read: ${messageOf(error)}`)]);
}

/** At least as many entries as webhooks, alerts and words read at once. */
const entriesRead = 4_096;

/** Whether webhooks, alerts and words can read on in the logs: they wait at a damaged entry. */
async function readersFinding(db: Database): Promise<Finding> {
  const waiting: string[] = [];
  for (const { tenantId, next, size } of await readersBehind(db.writer)) {
    const end = Math.min(size, next + entriesRead);
    const read = readTenant(db, tenantId, (tx) => decodedEntries(tx, next, end));
    await read.catch((error: unknown) => {
      if (!(error instanceof LogDamaged)) throw error;
      waiting.push(error.finding ?? error.message);
    });
  }
  if (waiting.length === 0)
    return ok('logs', 'the database does not contradict the published checkpoints');
  const which = [...new Set(waiting)].join('. ');
  return fail(
    'logs',
    `webhooks, alerts or the words of searches wait at a damaged entry. ${which}`,
  );
}

async function storeFault(db: Database, objects: ObjectStore): Promise<string | null> {
  const problem = await storeProblem(db.writer, { sha, objects });
  if (problem !== null) return problem.message;
  // Only now: nothing is written to the store of another installation.
  const unusable = await objects.probe().then(() => null, messageOf);
  return unusable && `no checkpoint can be published: ${unusable}`;
}

function storeFinding(alarm: string | null): Finding {
  const check = 'object store';
  if (alarm !== null) return fail(check, alarm);
  return ok(
    check,
    'takes objects; none of the last 1,000 rounds of checkpoints is missing or foreign',
  );
}

async function keyFinding(inUse: Buffer | null, keyFile: SigningKeyFile): Promise<Finding> {
  const check = 'signing key';
  const { path, isNamed } = keyFile;
  if (!existsSync(path)) return missingKeyFinding(inUse, keyFile);
  try {
    const own = await openSigner(path, false).publicKey();
    if (inUse === null || inUse.equals(own)) return ok(check, path);
  } catch (error) {
    return fail(check, messageOf(error));
  }
  if (isNamed) {
    return warn(check, `${path} is not the key in use: the next start rotates to it`);
  }
  const detail =
    `${path} is not the key in use, and the service made it itself, so this process ` +
    'cannot sign. Set SIGNING_KEY_FILE to the key in use or, if that is lost, to this one';
  return fail(check, detail);
}

function missingKeyFinding(inUse: Buffer | null, { path, isNamed }: SigningKeyFile): Finding {
  const check = 'signing key';
  if (isNamed) {
    return fail(check, `${path} holds no key; make one with \`indelible keygen\``);
  }
  if (inUse === null) return ok(check, 'is created by the first start');
  const detail =
    `${path} holds no key, but the logs are signed already: set SIGNING_KEY_FILE to the ` +
    'key in use, or a process that starts here cannot sign';
  return warn(check, detail);
}
