import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { App } from '../app.ts';
import type { Environment } from '../config.ts';
import { newSigningKey } from '../crypto/signer.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { Backups } from './backup.ts';
import { expectLogIntact } from './intact.ts';
import { expectNoFork } from './no-fork.ts';
import { nthEvent, platformKey, serviceOn, testService } from './service.ts';

/** A service whose database can be restored from a backup; it ends with its test. */
export async function rewindable() {
  const service = await testService();
  const backups = new Backups(service);
  onTestFinished(async () => {
    await backups.drop();
    await service.close();
  });
  const { call, dataDir, servingUrl, ownerUrl, app } = service;
  const store = join(dataDir, 'objects');
  const env: Environment = {
    DATABASE_URL: servingUrl,
    DATABASE_OWNER_URL: ownerUrl,
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: dataDir,
    OBJECT_STORE_URL: pathToFileURL(store).href,
  };
  const record = async (key: string, count: number) => {
    const events = Array.from({ length: count }, (_, n) => nthEvent(n));
    const url = '/api/audit-logs/batch';
    expect((await call({ method: 'POST', url, key, body: { events } })).status).toBe(200);
  };
  /** Another process of the installation, before its first round. */
  const process = async (more: Environment = {}): Promise<App> => {
    const further = await serviceOn(servingUrl, service.clock, more);
    onTestFinished(async () => {
      await further.app.http.close();
      await further.db.close();
    });
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
  const objects = openObjectStore(env.OBJECT_STORE_URL ?? '');
  const tick = () => app.checkpoints.tick();
  const more = { backups, env, store, objects, record, process, newKeyFile, halted, intact, tick };
  return { ...service, ...more };
}
