import { expect, test } from 'vitest';
import { expectLogIntact } from './intact.ts';
import { eventOf, testService } from './service.ts';

const service = await testService();

/** A tenant with a log of one complete tile and a tail, whose check passes. */
async function intactTenant(): Promise<string> {
  const { id, key } = await service.tenant();
  const events = Array.from({ length: 300 }, () => eventOf({ after: { a: 1 } }));
  await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body: { events } });
  await expectLogIntact(service, id);
  return id;
}

const damages = {
  'an event is changed':
    "UPDATE audit_events SET reason = 'x' WHERE tenant_id = $1 AND sequence = 7",
  'an event is given another actor':
    'UPDATE audit_events SET actor_id = tenant_id WHERE tenant_id = $1 AND sequence = 270',
  'a state is written with other white space': `UPDATE audit_events SET after = '{"a": 1}' WHERE tenant_id = $1 AND sequence = 9`,
  'an event is deleted': 'DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = 301',
  'an event is moved to another place':
    'UPDATE audit_events SET sequence = 999 WHERE tenant_id = $1 AND sequence = 5',
  'two events exchange their places':
    'UPDATE audit_events SET sequence = 13 - sequence WHERE tenant_id = $1 AND sequence IN (6, 7)',
  'a receive time is changed':
    "UPDATE audit_events SET received_at = (received_at AT TIME ZONE 'UTC' - interval '1 us') AT TIME ZONE 'UTC' WHERE tenant_id = $1 AND sequence = 3",
  'a salt is lost':
    "UPDATE audit_events SET salts = overlay(salts placing decode(repeat('00', 16), 'hex') from 17) WHERE tenant_id = $1 AND sequence = 4",
  'an entry of the tail is deleted': 'DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 260',
  'an entry of the tail is changed':
    'UPDATE log_tail SET entry = set_byte(entry, 59, 255 - get_byte(entry, 59)) WHERE tenant_id = $1 AND sequence = 260',
  'a tile is changed':
    'UPDATE log_tiles SET data = set_byte(data, 28, 255 - get_byte(data, 28)) WHERE tenant_id = $1',
  'the hash of a tile is wrong':
    'UPDATE log_tiles SET hash = set_byte(hash, 0, 255 - get_byte(hash, 0)) WHERE tenant_id = $1',
  'a tile is deleted': 'DELETE FROM log_tiles WHERE tenant_id = $1',
  'a tile stands where none belongs':
    'INSERT INTO log_tiles SELECT tenant_id, level, 7, hash, data FROM log_tiles WHERE tenant_id = $1',
  'the frontier is wrong':
    'UPDATE log_heads SET frontier = set_byte(frontier, 0, 255 - get_byte(frontier, 0)) WHERE tenant_id = $1',
  'the last receive time is wrong':
    'UPDATE log_heads SET last_received_us = last_received_us + 1 WHERE tenant_id = $1',
  'the head names another class': 'UPDATE log_heads SET retention_class = 1 WHERE tenant_id = $1',
};

test.each(Object.entries(damages))('the check of a log fails when %s', async (_, damage) => {
  const tenantId = await intactTenant();
  const { rowCount } = await service.owner.query(damage, [tenantId]);
  expect(rowCount).toBeGreaterThan(0);
  await expect(expectLogIntact(service, tenantId)).rejects.toThrow();
});

test('the check of a log fails for a tenant that has none', async () => {
  await expect(expectLogIntact(service, '00000000-0000-0000-0000-000000000000')).rejects.toThrow(
    'has no log',
  );
});
