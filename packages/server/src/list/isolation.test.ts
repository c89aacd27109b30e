import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { scopes } from '@indelible/protocol';
import { hostileTexts } from '@indelible/testing/arbitraries';
import { poolEvents, recordAll, storedFacts } from '@indelible/testing/event-pool';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

interface Tenant {
  id: string;
  key: string;
  /** One of its events, and its API key. */
  eventId: string;
  keyId: string;
}

async function makeTenant(): Promise<Tenant> {
  const { id } = await service.tenant();
  const url = `/api/tenants/${id}/api-keys`;
  const body = { name: 'all', scopes: [...scopes] };
  const made = await service.call({ method: 'POST', url, body });
  await recordAll(service, made.body.key, poolEvents(50, service.clock.now, 90));
  await recordAll(service, made.body.key, [eventOf({ before: { a: 1 }, after: { a: id } })]);
  const newest = await service.call({ url: '/api/audit-logs?limit=1', key: made.body.key });
  return {
    id,
    key: made.body.key,
    eventId: newest.body.data[0].id,
    keyId: made.body.id,
  };
}

const service = await testService();
const ours = await makeTenant();
const theirs = await makeTenant();
/** No tenant has it. */
const missing = { id: randomUUID() };
await service.app.http.listen({ port: 0, host: '127.0.0.1' });
const port = Number(new URL(service.app.http.listeningOrigin).port);

test('lists and counts with any filter hold events of the own tenant alone', async () => {
  const [sample] = await storedFacts(service, theirs.id);
  for (const query of [
    '',
    'sort=user',
    'sort=sequence',
    `resource_id=${theirs.id}`,
    `user=${sample?.actorId}`,
  ]) {
    const { body } = await service.call({
      url: `/api/audit-logs?limit=500&${query}`,
      key: ours.key,
    });
    expect(new Set(body.data.map((event: { tenantId: string }) => event.tenantId))).toSatisfy(
      (ids: Set<string>) => ids.size === 0 || (ids.size === 1 && ids.has(ours.id)),
    );
  }
  const own = await storedFacts(service, ours.id);
  const stats = await service.call({
    url: '/api/audit-logs/stats?group_by=action&from=2000-01-01',
    key: ours.key,
  });
  expect(stats.body.total).toBe(own.length);
});

test('a key of one tenant that names another in X-Tenant-Id is forbidden; its own it may name', async () => {
  const urls = [
    '/api/audit-logs',
    '/api/audit-logs/stats?group_by=day',
    `/api/audit-logs/${ours.eventId}`,
  ];
  for (const url of urls) {
    const as = (id: string) => service.call({ url, key: ours.key, headers: { 'x-tenant-id': id } });
    expect((await as(theirs.id)).body.code).toBe('forbidden');
    expect((await as(missing.id)).body.code).toBe('forbidden');
    expect((await as('theirs')).body.code).toBe('forbidden');
    expect((await as(ours.id)).status).toBe(200);
    expect((await as(ours.id.toUpperCase())).status).toBe(200);
  }
  const { body } = await service.call({
    url: '/api/audit-logs?action=access&cross_tenant=true',
    key: theirs.key,
  });
  expect(
    body.data.filter(
      (event: { resource: { type: string } }) => event.resource.type === 'audit_log',
    ),
  ).toEqual([]);
});

test('a pooled connection keeps nothing of the tenant it last served', async () => {
  await service.call({ url: '/api/audit-logs', key: ours.key });
  const rows = await Promise.all(
    Array.from({ length: 8 }, () => service.db.reader.query('SELECT id FROM audit_events')),
  );
  expect(rows.map(({ rowCount }) => rowCount)).toEqual(Array(8).fill(0));
});

const encoded = [
  ...hostileTexts.map(encodeURIComponent),
  ...[
    ...['%00', '%zz', '%', '%ff', '%C0%AF', '%ED%A0%80', '%0d%0aSet-Cookie:a=b', '!%00'],
    ...['%F0%9F%98', '..%2f..%2f', '%u0000'],
  ],
  encodeURIComponent("x' OR '1'='1@example.com"),
  'x%27--@example.com',
  '9'.repeat(400),
  encodeURIComponent('a'.repeat(300)),
];
const listParams =
  'from to user action resource resource_id cross_tenant category page cursor limit sort order after_sequence include group_by time_zone nonsense';

test.each(listParams.split(' '))(
  'hostile text in %s is refused or matches nothing',
  async (name) => {
    for (const text of encoded) {
      for (const path of ['', '/stats']) {
        const also = path === '' || name === 'group_by' ? '' : '&group_by=day';
        const url = `/api/audit-logs${path}?${name}=${text}${also}`;
        const { status, body } = await service.call({ url, key: ours.key });
        if (status === 200) expect(body.data, url).toEqual([]);
        else
          expect([status, body.code], url).toEqual([
            400,
            expect.stringMatching(
              /^(unknown_parameter|invalid_parameter|invalid_cursor|page_too_deep)$/,
            ),
          ]);
      }
    }
  },
);

test('hostile text for the name of a parameter or the id of an event is refused', async () => {
  for (const text of encoded) {
    const named = await service.call({ url: `/api/audit-logs?${text}=1`, key: ours.key });
    expect([named.status, named.body.code]).toEqual([400, 'unknown_parameter']);
    const byId = await service.call({ url: `/api/audit-logs/${text}`, key: ours.key });
    expect([400, 404], text).toContain(byId.status);
  }
});

/** Sends bytes as they are and returns everything that came back. */
function exchange(bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')));
    socket.on('error', reject);
  });
}

const request = (target: string, headers: string[]) =>
  Buffer.from(
    [
      `GET ${target} HTTP/1.1`,
      'Host: x',
      'Connection: close',
      `Authorization: Bearer ${ours.key}`,
      ...headers,
      '',
      '',
    ].join('\r\n'),
    'latin1',
  );

test('a filter behind a stray # is a filter all the same', async () => {
  for (const target of [
    '/api/audit-logs#?action=unheard_of',
    '/api/audit-logs?limit=5#&action=unheard_of',
  ]) {
    const answer = await exchange(request(target, []));
    expect(answer).toMatch(/^HTTP\/1\.1 (400|200[\s\S]*"data":\[\])/);
  }
});

const rawHeaders = [
  ...['X-Tenant-Id', 'X-Access-Reason', 'X-Operator-Email', 'X-Request-Id', 'User-Agent', 'Accept'],
  ...['Cookie', 'Forwarded', 'X-Forwarded-For'],
];

test.each(rawHeaders)(
  'hostile bytes in the header %s are refused or without effect, and never come back',
  async (name) => {
    const values = [
      ...hostileTexts.map((text) => text.replaceAll(/[\r\n\0]/g, ' ')),
      '\u0000',
      '\u0001\u001b[2J',
      '\u007f',
      '\u00ff\u00fe',
      '\u00ed\u00a0\u0080',
      '%00',
      '%zz',
      '',
      ' ',
      '\t',
      'a'.repeat(7_000),
      'first\r\n second',
      `${ours.id}, ${theirs.id}`,
      `${ours.id}\r\n${name}: ${theirs.id}`,
      'x\r\nX-Injected: 1',
    ];
    for (const value of values) {
      const answer = await exchange(
        request('/api/audit-logs?limit=1', [`${name}: ${Buffer.from(value).toString('latin1')}`]),
      );
      expect(answer, value).toMatch(/^HTTP\/1\.1 (200|4\d\d) /);
      const [head = ''] = answer.split('\r\n\r\n');
      expect(head.toLowerCase()).not.toMatch(/x-injected|set-cookie/);
      expect(head).toMatch(/x-request-id: [\w-]{8,64}\r|HTTP\/1\.1 4/i);
      expect(answer).not.toContain(theirs.id);
    }
  },
);
