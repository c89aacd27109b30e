import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { endWhenStalled } from './stalled-reader.ts';

const afterMs = 100;

/** Asks a server that answers so; the connection reads nothing by itself. */
async function ask(answer: (response: ServerResponse) => void) {
  const server = createServer((_, response) => {
    endWhenStalled(response, afterMs);
    answer(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const reader = connect(port, '127.0.0.1');
  onTestFinished(() => {
    reader.destroy();
    server.close();
  });
  reader.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  return reader;
}

test('a reader who takes nothing any more is given up', async () => {
  const closed = Promise.withResolvers<boolean>();
  await ask((response) => {
    response.on('close', () => closed.resolve(response.writableFinished));
    response.end(Buffer.alloc(64 * 2 ** 20)); // more than lies ready on the way
  });
  expect(await closed.promise).toBe(false);
});

test('a reader who waits because nothing is there yet gets everything', async () => {
  const reader = await ask((response) => {
    response.write('first, ');
    let silences = 0;
    response.on('timeout', () => {
      silences += 1;
      if (silences === 2) response.end('then last');
    });
  });
  expect(await text(reader)).toMatch(/first, .*then last/s);
});

test('an answer that was sent is watched no more', async () => {
  const again: number[] = [];
  const reader = await ask((response) => {
    response.on('finish', () => {
      response.setTimeout = (ms) => {
        again.push(ms);
        return response;
      };
      response.emit('timeout');
    });
    response.end('everything');
  });
  expect(await text(reader)).toMatch(/everything$/);
  expect(again).toEqual([]);
});
