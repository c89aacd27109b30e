import { createHash } from 'node:crypto';
import type pg from 'pg';
import { inTransaction } from './audit.ts';
import { changeEvent } from './change-event.ts';
import { type Tx, transaction } from './database.ts';
import { people, tenants } from './people.ts';
import { insertRecording, isEmpty, type Resource, writeResource } from './store.ts';

/** Something to look at, the first time: made and recorded like anything later. */
export async function firstData(pool: pg.Pool): Promise<void> {
  if (!(await isEmpty(pool))) return;
  await transaction(pool, async (tx) => {
    for (const { id } of tenants) {
      for (const resource of resourcesOf(id)) await make(tx, resource);
      await makeRecordings(tx, id);
    }
  });
}

async function make(tx: Tx, resource: Resource): Promise<void> {
  const admin = people.find(({ tenantId }) => tenantId === resource.tenantId);
  if (!admin) throw new Error('every tenant of the example has an administrator');
  const { id, email, role } = admin;
  await writeResource(tx, resource);
  await inTransaction(tx, {
    ...changeEvent(null, resource),
    tenantId: resource.tenantId,
    actor: { id, email, role },
  });
}

function resourcesOf(tenantId: string): Resource[] {
  const resource = (type: string, name: string, state: Resource['state']): Resource => {
    return { tenantId, id: idOf(tenantId, name), type, name, state, deleted: false };
  };
  return [
    resource('queue', 'Support', {
      maxWaitSeconds: 60,
      strategy: 'longest_idle',
      overflowTo: 'Voicemail',
    }),
    resource('queue', 'Sales', { maxWaitSeconds: 30, strategy: 'skills_first', overflowTo: '' }),
    resource('ivr', 'Main menu', {
      greeting: 'Welcome. How can we help?',
      menu: ['1 Support', '2 Sales', '9 Again'],
    }),
    resource('recording_policy', 'All inbound', {
      percent: 100,
      retentionDays: 90,
      pauseOnCardEntry: true,
    }),
    resource('user_role', 'Supervisor', { permissions: ['recordings.listen', 'queues.view'] }),
  ];
}

async function makeRecordings(tx: Tx, tenantId: string): Promise<void> {
  for (const [index, agent] of ['Ida Berg', 'Tom Reyes', 'Ida Berg'].entries()) {
    await insertRecording(tx, tenantId, {
      id: idOf(tenantId, `call ${index}`),
      agent,
      caller: `+155501000${index}`,
      startedAt: new Date(Date.now() - (index + 1) * 3_600_000),
      seconds: 95 + index,
    });
  }
}

/** Makes the same id at every start, so that two starts at once make one thing. */
function idOf(tenantId: string, name: string): string {
  const hex = createHash('sha256').update(`${tenantId}/${name}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
