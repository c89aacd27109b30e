import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

/** Latencies in milliseconds and what was done in how many seconds. */
export interface LoadResult {
  requests: number;
  seconds: number;
  failures: number;
  latencies: Float64Array;
}

/**
 * Sends requests over keep-alive connections, one at a time on each, until `seconds` are over. A
 * bare HTTP/1.1 client, because the generator shares the machine with what it measures.
 */
export async function load(options: {
  url: string;
  connections: number;
  seconds: number;
  next: () => { method: string; path: string; headers: string; body: Buffer | null };
}): Promise<LoadResult> {
  const { hostname, port } = new URL(options.url);
  const latencies: number[] = [];
  let failures = 0;
  const started = performance.now();
  const end = started + options.seconds * 1_000;
  const run = async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const exchange = exchanger(socket);
    while (performance.now() < end) {
      const { method, path, headers, body } = options.next();
      const sent = performance.now();
      const head = `${method} ${path} HTTP/1.1\r\nhost: bench\r\n${headers}content-length: ${body?.length ?? 0}\r\n\r\n`;
      const status = await exchange(head, body);
      latencies.push(performance.now() - sent);
      if (status >= 300) failures++;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: options.connections }, run));
  const seconds = (performance.now() - started) / 1_000;
  return {
    requests: latencies.length,
    seconds,
    failures,
    latencies: Float64Array.from(latencies).sort(),
  };
}

/** Sends one request on the socket and resolves with the status once the whole answer is in. */
function exchanger(socket: Socket): (head: string, body: Buffer | null) => Promise<number> {
  let resolve: (status: number) => void = () => {};
  let received = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd === -1) return;
    const head = received.toString('latin1', 0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (received.length < headEnd + 4 + length) return;
    received = Buffer.alloc(0);
    resolve(Number(head.slice(9, 12)));
  });
  socket.on('error', () => resolve(599));
  return (head, body) =>
    new Promise((done) => {
      resolve = done;
      socket.cork();
      socket.write(head, 'latin1');
      if (body) socket.write(body);
      socket.uncork();
    });
}

/** Sorted milliseconds of runs, one after the other; the first ones are not counted. */
export async function latenciesOf(
  times: number,
  run: (n: number) => Promise<unknown>,
): Promise<Float64Array> {
  for (let n = 0; n < Math.min(times, 10); n++) await run(n);
  const latencies = new Float64Array(times);
  for (let n = 0; n < times; n++) {
    const started = performance.now();
    await run(n);
    latencies[n] = performance.now() - started;
  }
  return latencies.sort();
}

/** The value below which this share of the sorted latencies lies. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
