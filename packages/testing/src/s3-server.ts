import type { AddressInfo } from 'node:net';
import { buildApp } from 'fauxqs';
import { atEnd } from './at-end.ts';

/** A request as a test's faults see it: `PUT /bucket/key?query`. */
type Fault = (request: string) => 'lost' | number | undefined;

interface S3Server {
  /** For OBJECT_STORE_URL, with a new bucket each time. */
  newUrl(): Promise<string>;
  /** Every request so far, as `PUT /bucket/key?query`. */
  requests: string[];
  /** Refuses requests with a status, or executes them and loses the answer; null ends it. */
  fault(fault: Fault | null): void;
}

/** Credentials reach the SDK as in production; the server accepts any. */
process.env.AWS_ACCESS_KEY_ID = 'test';
process.env.AWS_SECRET_ACCESS_KEY = 'test';

/**
 * A real S3 server on loopback. `conditional` false: ignores If-None-Match, as plain fauxqs does.
 */
export async function startS3Server({ conditional = true } = {}): Promise<S3Server> {
  const app = buildApp({ logger: false });
  const requests: string[] = [];
  let fault: Fault | null = null;
  const lost = new WeakSet<object>();
  app.addHook('onRequest', (request, reply, done) => {
    const line = `${request.method} ${request.url}`;
    requests.push(line);
    const answer = fault?.(line);
    if (answer === 'lost') lost.add(request.raw);
    if (typeof answer !== 'number') return done();
    reply.code(answer).type('application/xml').send(`<Error><Code>Fault${answer}</Code></Error>`);
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    if (lost.has(request.raw)) request.raw.socket.destroy();
    done();
  });
  if (conditional) addConditionalPut(app);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  atEnd(() => app.close());
  let buckets = 0;
  return {
    requests,
    fault: (next) => {
      fault = next;
    },
    async newUrl() {
      const bucket = `bucket-${buckets++}`;
      await app.inject({ method: 'PUT', url: `/${bucket}` });
      return `s3://${bucket}/some/prefix?endpoint=http://127.0.0.1:${port}`;
    },
  };
}

/**
 * fauxqs lacks conditional writes, which S3 has had since 2024: `If-None-Match: *` answers 412 for
 * an existing key. A key is reserved when its first request is accepted, in one synchronous step,
 * so that exactly one of concurrent requests wins.
 */
function addConditionalPut(app: ReturnType<typeof buildApp>): void {
  const taken = new Set<string>();
  app.addHook('preHandler', (request, reply, done) => {
    const { pathname: key, searchParams } = new URL(request.url, 'http://localhost');
    const writes = request.method === 'PUT' ? !searchParams.has('uploadId') : isComplete(request);
    if (writes && request.headers['if-none-match'] === '*' && taken.has(key)) {
      const xml = '<Error><Code>PreconditionFailed</Code><Message>exists</Message></Error>';
      reply.code(412).type('application/xml').send(xml);
      return;
    }
    if (writes) taken.add(key);
    if (request.method === 'DELETE' && !searchParams.has('uploadId')) taken.delete(key);
    done();
  });
}

function isComplete({ method, url }: { method: string; url: string }): boolean {
  return method === 'POST' && url.includes('uploadId=');
}
