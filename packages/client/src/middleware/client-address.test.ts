import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressFinder, type ProxyOptions } from './client-address.ts';

const proxies = ['10.0.0.0/8', '2001:db8:ffff::/48'];

function clientOf(options: ProxyOptions, header: string | null, peer: string | null = '10.0.0.1') {
  const name = options.proxyHeader ?? 'x-forwarded-for';
  return addressFinder(options)((asked) => (asked === name ? header : null), peer);
}

test('the peer is the client where no proxy is trusted, whatever headers say', () => {
  expect(clientOf({}, '198.51.100.1')).toBe('10.0.0.1');
  expect(clientOf({}, '198.51.100.1', null)).toBeNull();
});

test('a peer that is no trusted proxy is the client: what it claims is ignored', () => {
  fc.assert(
    fc.property(fc.string(), fc.ipV4(), (claim, peer) => {
      fc.pre(!peer.startsWith('10.'));
      expect(clientOf({ trustedProxies: proxies }, claim, peer)).toBe(peer);
      expect(clientOf({ trustedProxies: proxies, proxyHeader: 'forwarded' }, claim, peer)).toBe(
        peer,
      );
    }),
  );
});

test('however much a client writes in front, the address its proxy saw is found', () => {
  const trusted = { trustedProxies: proxies };
  fc.assert(
    fc.property(fc.string(), (claim) => {
      expect(clientOf(trusted, `${claim}, 203.0.113.7`)).toBe('203.0.113.7');
      expect(clientOf(trusted, `${claim}, 203.0.113.7, 10.1.1.1`)).toBe('203.0.113.7');
      expect(clientOf({ trustedProxies: 2 }, `${claim}, 203.0.113.7, 192.0.2.1`)).toBe(
        '203.0.113.7',
      );
    }),
  );
});

test('so it is in Forwarded, whatever quotes a client leaves open, and in no time', () => {
  const trusted = { trustedProxies: proxies, proxyHeader: 'forwarded' } as const;
  const claims = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', '\\', ',', 'for=') }),
  );
  fc.assert(
    fc.property(claims, (claim) => {
      const seen = `${claim}, for="[2001:db8::7]:99", for="10.1.1.1:\\8\\0";host="a,\\"b"`;
      expect(clientOf(trusted, seen)).toBe('2001:db8::7');
    }),
  );
  const began = process.threadCpuUsage();
  clientOf(trusted, '"\\'.repeat(50_000));
  expect(process.threadCpuUsage(began).user).toBeLessThan(1_000_000);
});

test('an entry that a trusted proxy wrote and that is no address ends the way: no address is guessed', () => {
  expect(clientOf({ trustedProxies: proxies }, '198.51.100.1, unknown')).toBeNull();
  const forwarded = { trustedProxies: proxies, proxyHeader: 'forwarded' } as const;
  expect(clientOf(forwarded, 'for=198.51.100.1, for=_hidden')).toBeNull();
  expect(clientOf(forwarded, 'for=198.51.100.1, proto=https')).toBeNull();
});

test('when all are trusted the leftmost is the client, and without a header the peer', () => {
  expect(clientOf({ trustedProxies: proxies }, '10.9.9.9, 10.1.1.1')).toBe('10.9.9.9');
  expect(clientOf({ trustedProxies: proxies }, null)).toBe('10.0.0.1');
  expect(clientOf({ trustedProxies: proxies, proxyHeader: 'forwarded' }, null)).toBe('10.0.0.1');
  expect(clientOf({ trustedProxies: 3 }, '203.0.113.7')).toBe('203.0.113.7');
});

test('where the server does not tell the peer, proxies can be counted but not recognised', () => {
  expect(clientOf({ trustedProxies: 1 }, '198.51.100.1, 203.0.113.7', null)).toBe('203.0.113.7');
  expect(clientOf({ trustedProxies: proxies }, '203.0.113.7', null)).toBeNull();
});

test.each([
  ['for=203.0.113.7;proto=https;by=10.0.0.1', '203.0.113.7'],
  ['For="[2001:db8::7]:4711"', '2001:db8::7'],
  ['for="203.0.113.7:80";host="a,b;for=1.2.3.4"', '203.0.113.7'],
  ['proto=http; for=203.0.113.7, for="[2001:db8:ffff::1]"', '203.0.113.7'],
  ['for=198.51.100.1, for="203.0.113.\\7"', '203.0.113.7'],
  ['for="198.51.100.1, for=203.0.113.7', '203.0.113.7'],
])('Forwarded: %s names %s', (header, client) => {
  expect(clientOf({ trustedProxies: proxies, proxyHeader: 'forwarded' }, header)).toBe(client);
});

test.each([
  ['loopback', '127.8.9.1'],
  ['loopback', '::1'],
  ['linklocal', 'fe80::9%eth0'],
  [['loopback', 'uniquelocal'], '172.31.0.1'],
  ['loopback, uniquelocal', 'fd00::7'],
  ['10.0.0.1', '10.0.0.1'],
])('ranges may have the names that Express gives them: %j holds %s', (trustedProxies, peer) => {
  expect(clientOf({ trustedProxies }, '203.0.113.7', peer)).toBe('203.0.113.7');
  expect(clientOf({ trustedProxies }, '203.0.113.7', '198.51.100.1')).toBe('198.51.100.1');
});

test.each([true, null, -1, 1.5, Number.NaN, 'everywhere', '10.0.0.0/33', ['10.0.0.0/8', 7], ''])(
  'trustedProxies: %j is refused at once, in a sentence that says what is wanted',
  (wrong) => {
    const make = () => addressFinder({ trustedProxies: wrong as number });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/trustedProxies.*(addresses|range)/);
  },
);

test('only the header that the proxies write is read: the other one passes as the client sent it', () => {
  const find = addressFinder({ trustedProxies: proxies });
  const headers: Record<string, string> = { forwarded: 'for=198.51.100.1' };
  expect(find((name) => headers[name], '10.0.0.1')).toBe('10.0.0.1');
});

test('an IPv4 peer of a socket for both kinds is recognised as IPv4', () => {
  const trusted = { trustedProxies: ['127.0.0.1'] };
  expect(clientOf(trusted, '::ffff:203.0.113.7', '::ffff:127.0.0.1')).toBe('203.0.113.7');
});
