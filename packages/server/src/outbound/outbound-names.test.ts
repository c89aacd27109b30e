import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createOutbound } from './outbound.ts';
import { resolveByDns } from './outbound-names.ts';

/** A name server: `answer` gets a question and returns what is sent back, if anything. */
async function nameServer(answer: (question: Buffer) => Buffer | null): Promise<string> {
  const socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  socket.on('message', (question, { port, address }) => {
    const reply = answer(question);
    if (reply) socket.send(reply, port, address);
  });
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

/** RFC 1035: the question with the flags of an answer, and a record for the name at byte 12. */
function withRecord(question: Buffer, data: readonly number[] | null, type?: number): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const asked = question.subarray(12, end);
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(data ? 1 : 0, 6);
  header.writeUInt16BE(0, 10);
  if (!data) return Buffer.concat([header, asked]);
  const kind = type === undefined ? asked.subarray(-4) : [0, type, 0, 1];
  const record = Buffer.from([0xc0, 12, ...kind, 0, 0, 0, 60, 0, data.length, ...data]);
  return Buffer.concat([header, asked, record]);
}

const isForIpv4 = (question: Buffer) => question[question.indexOf(0, 12) + 2] === 1;

test('a name has the addresses of both families, or of the one that it has', async () => {
  const both = await nameServer((question) =>
    withRecord(
      question,
      isForIpv4(question) ? [192, 0, 2, 1] : [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 7],
    ),
  );
  expect(await resolveByDns({ servers: [both] })('hooks.example.com')).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '2001:db8::7', family: 6 },
  ]);
  const one = await nameServer((question) =>
    withRecord(
      question,
      isForIpv4(question) ? null : [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 7],
    ),
  );
  expect(await resolveByDns({ servers: [one] })('hooks.example.com')).toEqual([
    { address: '2001:db8::7', family: 6 },
  ]);
  const none = await nameServer((question) => withRecord(question, null));
  await expect(resolveByDns({ servers: [none] })('hooks.example.com')).rejects.toMatchObject({
    code: 'ENODATA',
  });
});

test('a name that stands for one without addresses has none, and may have some again', async () => {
  const cname = 5;
  const target = [4, ...Buffer.from('gone'), 0];
  const server = await nameServer((question) => withRecord(question, target, cname));
  const resolve = resolveByDns({ servers: [server] });
  await expect(resolve('hooks.example.com')).rejects.toMatchObject({ code: 'ENODATA' });
  const call = {
    method: 'POST',
    url: 'https://hooks.example.com/',
    headers: {},
    body: '',
  } as const;
  expect(await createOutbound({ allowPrivate: false, resolve })(call)).toEqual({
    kind: 'failed',
    reason: 'its name cannot be resolved',
    mayPass: true,
  });
});

test('names without an answer delay no other look-up, and end', async () => {
  let asked = 0;
  const silent = await nameServer(() => {
    asked += 1;
    return null;
  });
  const resolve = resolveByDns({ servers: [silent], timeoutMs: 300 });
  let ended = 0;
  const waiting = Array.from({ length: 20 }, (_, name) =>
    resolve(`${name}.example.com`).catch((error: NodeJS.ErrnoException) => {
      ended += 1;
      return error.code;
    }),
  );
  await lookup('localhost');
  expect(ended).toBe(0);
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['ETIMEOUT']));
  expect(asked).toBeGreaterThanOrEqual(40);
});

test('the names of the machine itself are none of the world', async () => {
  const none = await nameServer((question) => withRecord(question, null));
  await expect(resolveByDns({ servers: [none] })('localhost')).rejects.toThrow();
});
