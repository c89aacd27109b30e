import { once } from 'node:events';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

/** Latencies in milliseconds and what was done in how many seconds. */
export interface LoadResult {
  requests: number;
  seconds: number;
  failures: number;
  latencies: Float64Array;
}

/** A whole request. Made before the load, because the generator shares the machine with it. */
export function requestOf(method: string, path: string, key: string, body?: object): Buffer {
  const text = body ? JSON.stringify(body) : '';
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${key}`,
    ...(body ? ['content-type: application/json'] : []),
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`);
}

/** A connection for one request at a time, which resolves with the status of its answer. */
export function openConnection(url: string) {
  const { hostname: host, port } = new URL(url);
  const take = answerReader();
  let answered: (status: number) => void = () => {};
  const callback = (length: number, { buffer }: Uint8Array) => {
    const status = take(Buffer.from(buffer, 0, length));
    if (status !== null) answered(status);
    return true;
  };
  const onread = { buffer: new Uint8Array(65_536), callback };
  const socket = connect({ host, port: Number(port), noDelay: true, onread });
  const exchange = (request: Buffer) => {
    const { promise, resolve } = Promise.withResolvers<number>();
    answered = resolve;
    socket.write(request);
    return promise;
  };
  return { exchange, close: () => void socket.destroy() };
}

/**
 * Sends requests over keep-alive connections, one at a time on each, until `seconds` are over; each
 * request that begins is answered. A bare HTTP/1.1 client, on bytes.
 */
export async function load(options: {
  url: string;
  connections: number;
  seconds: number;
  /** Sent in this order, again and again. */
  requests: readonly Buffer[];
}): Promise<LoadResult> {
  const { requests } = options;
  const { hostname: host, port } = new URL(options.url);
  const latencies: number[] = [];
  let failures = 0;
  let next = 0;
  const started = performance.now();
  const end = started + options.seconds * 1_000;
  const run = async () => {
    const take = answerReader();
    let sent = performance.now();
    const callback = (length: number, { buffer }: Uint8Array) => {
      const status = take(Buffer.from(buffer, 0, length));
      if (status === null) return true;
      if (status >= 300) failures++;
      const now = performance.now();
      latencies.push(now - sent);
      sent = now;
      if (now < end) socket.write(requests[next++ % requests.length] ?? '');
      else socket.destroy();
      return true;
    };
    const onread = { buffer: new Uint8Array(65_536), callback };
    const socket = connect({ host, port: Number(port), noDelay: true, onread });
    socket.write(requests[next++ % requests.length] ?? '');
    await once(socket, 'close'); // an error of the connection ends the load
    if (sent < end) throw new Error('the service closed a connection');
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

/** Takes the bytes of answers; returns the status once all of an answer is in, null before. */
function answerReader(): (bytes: Buffer) => number | null {
  let begun: Buffer = Buffer.alloc(0);
  let status = 0;
  let left = 0;
  return (bytes) => {
    if (left > 0) left -= bytes.length;
    else {
      begun = begun.length > 0 ? Buffer.concat([begun, bytes]) : bytes;
      const headEnd = begun.indexOf('\r\n\r\n');
      if (headEnd === -1) {
        begun = Buffer.from(begun); // the next bytes of the socket take its place
        return null;
      }
      const head = begun.toString('latin1', 0, headEnd);
      status = Number(head.slice(9, 12));
      left = headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - begun.length;
      begun = begun.subarray(0, 0);
    }
    return left === 0 ? status : null;
  };
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
