import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type pg from 'pg';
import { expect } from 'vitest';
import type { App } from '../../server/src/app.ts';
import type { Environment } from '../../server/src/config.ts';
import { newSigningKey } from '../../server/src/crypto/signer.ts';
import { openObjectStore } from '../../server/src/objects/open-store.ts';
import { envOf } from './archived.ts';
import { atEnd } from './at-end.ts';
import { Backups } from './backup.ts';
import { expectLogIntact } from './intact.ts';
import { expectNoFork } from './no-fork.ts';
import { callOn, eventOf, nthEvent, serviceOn, testService } from './service.ts';

/** A service whose database can be restored from a backup, with `more` in its environment. */
export async function rewindable(more: Environment = {}) {
  const service = await testService(more);
  const backups = new Backups(service);
  atEnd(() => backups.drop());
  const { dataDir, servingUrl, app } = service;
  const store = join(dataDir, 'objects');
  const env: Environment = {
    ...envOf(service),
    OBJECT_STORE_URL: pathToFileURL(store).href,
    ...more,
  };
  const record = async (key: string, count = 1, on = app) => {
    const events = Array.from({ length: count }, (_, n) => nthEvent(n));
    const url = '/api/audit-logs/batch';
    const { status, body } = await callOn(on, { method: 'POST', url, key, body: { events } });
    expect(status).toBe(200);
    return body.results as { id: string; sequence: number }[];
  };
  /** The answer to one event. */
  const post = (key: string, on = app) =>
    callOn(on, { method: 'POST', url: '/api/audit-logs', key, body: eventOf() });
  const metric = async (name: string, on = app) => {
    const { text } = await callOn(on, { url: '/metrics', key: null });
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  /** Another process of the installation, before its first round. */
  const process = async (more: Environment = {}, url = servingUrl): Promise<App> => {
    const further = await serviceOn(url, service.clock, { DATA_DIR: dataDir, ...more });
    atEnd(further.close);
    return further.app;
  };
  let keys = 0;
  const newKeyFile = () => {
    const path = join(dataDir, `key-${keys++}.pem`);
    writeFileSync(path, newSigningKey(), { mode: 0o600 });
    return path;
  };
  const asOwner = async <T>(work: (owning: { owner: pg.Client }) => Promise<T>) => {
    const owner = await backups.owner();
    return work({ owner }).finally(() => owner.end());
  };
  /** Why recording is stopped; null if it is not. */
  const halted = (): Promise<string | null> =>
    asOwner(async ({ owner }) => {
      const { rows } = await owner.query('SELECT halted FROM log_rounds');
      return rows[0].halted;
    });
  /** The log is stored correctly, and nothing published contradicts it. */
  const intact = async (tenantId: string, ...stores: string[]) => {
    await asOwner((owning) => expectLogIntact(owning, tenantId));
    await expectNoFork(backups, store, ...stores);
  };
  /** The owner of the database as it is now; a restored one ends earlier connections. */
  const newOwner = async () => {
    const owner = await backups.owner();
    atEnd(() => owner.end());
    return owner;
  };
  const objects = openObjectStore(env.OBJECT_STORE_URL ?? '');
  const tick = () => app.checkpoints.tick();
  return {
    ...service,
    backups,
    env,
    store,
    objects,
    tick,
    record,
    post,
    metric,
    process,
    newKeyFile,
    newOwner,
    halted,
    intact,
  };
}
