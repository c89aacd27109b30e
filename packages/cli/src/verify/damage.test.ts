import { eventIdFromUuid } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { damageOf } from '../testing/damage.ts';
import { verifiedService } from '../testing/verified-service.ts';

const log = await verifiedService();
const damage = await damageOf(log);

/** What the victim of most damages is: an event without an empty column. */
const victim = 530;
const row = (sequence = victim) => `tenant_id = '${log.tenant.id}' AND sequence = ${sequence}`;

const text = (column: string) =>
  `${column} = overlay(${column} placing chr(ascii(${column}) # 1) from 1 for 1)`;
const uuid = (column: string) =>
  `${column} = overlay(${column}::text placing case right(${column}::text, 1) when '0' then '1' else '0' end from 36 for 1)::uuid`;
const json = (column: string) => `${column} = replace(${column}::text, 'H', 'I')::json`;

/** One change to each column that the log commits to. */
const contentChanges: Record<string, string> = {
  actor_id: uuid('actor_id'),
  resource_id: uuid('resource_id'),
  recorded_by_id: uuid('recorded_by_id'),
  cross_tenant: 'cross_tenant = NOT cross_tenant',
  recorded_by_kind: text('recorded_by_kind'),
  actor_email: text('actor_email'),
  actor_email_key: text('actor_email_key'),
  actor_role: text('actor_role'),
  actor_ip: text('actor_ip'),
  actor_user_agent: text('actor_user_agent'),
  action: text('action'),
  resource_type: text('resource_type'),
  resource_name: text('resource_name'),
  category: text('category'),
  reason: text('reason'),
  diff: json('diff'),
  before: json('before'),
  after: json('after'),
  context: `context = '{"outcome":"success"}'`,
  context_identity: `context_identity = '{}'`,
  outcome: `outcome = 'success'`,
  actor_type: `actor_type = 'agent'`,
  correlation_id: `correlation_id = 'x'`,
  on_behalf_of: 'on_behalf_of = NULL',
  salts: 'salts = set_byte(salts, 40, get_byte(salts, 40) # 1)',
};

/** One change to each other column, and what verification makes of it. */
const otherChanges: Record<string, [string, string[]]> = {
  tenant_id: [uuid('tenant_id'), ['missing_body']],
  id: [uuid('id'), ['other_event']],
  sequence: ['sequence = sequence - 1', ['missing_body', 'other_event']],
  received_at: [`received_at = received_at + interval '1 ms'`, ['derived_field_mismatch']],
  retention_class: ['retention_class = 1', ['missing_body']],
  // What is said to be erased is still there.
  erased: [`erased = json_build_object('identity', repeat('0', 64))`, ['malformed_body']],
};

test('one changed byte in any column of an event is found, and the event is named', async () => {
  const { rows } = await log.service.owner.query<{ column: string }>(
    `SELECT attname AS column FROM pg_attribute
     WHERE attrelid = 'audit_events'::regclass AND attnum > 0 AND NOT attisdropped`,
  );
  const columns = [...Object.keys(contentChanges), ...Object.keys(otherChanges)];
  expect(columns.sort()).toEqual(rows.map(({ column }) => column).sort());
  await log.service.owner.query('SELECT make_partition(1::smallint, now())');
  for (const [column, [set, codes]] of Object.entries(otherChanges)) {
    const report = await damage.report(`UPDATE audit_events SET ${set} WHERE ${row()}`);
    const first = column === 'sequence' ? victim - 1 : victim;
    await damage.expectFirst(report, { first, codes }).catch((cause: unknown) => {
      throw new Error(`a change of ${column}`, { cause });
    });
  }
  // Each at an event of its own, as full as the victim: every second one of those with states.
  const victims = Object.keys(contentChanges).map((_, n) => victim - 2 * n + 20);
  const updates = Object.values(contentChanges).map(
    (set, n) => `UPDATE audit_events SET ${set} WHERE ${row(victims[n])}`,
  );
  const { findings } = await damage.report(...updates);
  const found = findings.kept.map(({ code, sequence }) => `${code} ${sequence}`);
  expect(found).toEqual(victims.map((at) => `content_mismatch ${at}`).reverse());
});

test('two events that have changed places are found', async () => {
  const report = await damage.report(
    `UPDATE audit_events SET sequence = 861 - sequence WHERE (${row(430)}) OR (${row(431)})`,
  );
  await damage.expectFirst(report, { first: 430, codes: ['other_event'] });
  expect(report.findings.count).toBe(2);
});

test('an event that was deleted is found, in the middle of the log and at its end', async () => {
  for (const sequence of [0, 255, 256, 301, 566]) {
    const report = await damage.report(`DELETE FROM audit_events WHERE ${row(sequence)}`);
    const { eventId } = await damage.at(sequence);
    await damage.expectFirst(report, { first: sequence, event: eventId, codes: ['missing_body'] });
  }
});

/** A statement that puts a forged copy of an event into the table. */
const insert = (sequence: string | number) => `
  INSERT INTO audit_events SELECT tenant_id, overlay(id::text placing '0000' from 33)::uuid, ${sequence}, received_at,
    actor_id, resource_id, recorded_by_id, retention_class, cross_tenant, recorded_by_kind, actor_email,
    actor_email_key, actor_role, actor_ip, actor_user_agent, 'delete', resource_type, resource_name, category,
    reason, diff, before, after, salts, erased, context, context_identity FROM audit_events WHERE ${row()}`;

test('an inserted event is found, whether its sequence is taken, free or the next to come', async () => {
  const { id } = await damage.at(victim);
  const forged = eventIdFromUuid(`${id.slice(0, -4)}0000`);
  const taken = await damage.report(insert('sequence'));
  await damage.expectFirst(taken, { first: victim, event: forged, codes: ['other_event'] });
  const freed = await damage.report(`DELETE FROM audit_events WHERE ${row(300)}`, insert(300));
  await damage.expectFirst(freed, { first: 300, event: forged, codes: ['other_event'] });
  const next = await damage.report(insert(567));
  expect(next.firstDamage).toMatchObject({ sequence: 567, eventId: forged });
  expect(next.findings.byCode).toEqual({ beyond_checkpoint: 1 });
});
