import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onceClosed } from './once-closed.ts';
import { AppError } from './problem.ts';
import { readQuery } from './query.ts';
import { endWhenStalled } from './stalled-reader.ts';

/** The headers of every answer: other sites can neither show nor load it. */
export function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('x-frame-options', 'DENY');
  reply.header('cross-origin-resource-policy', 'same-origin');
}

/** Every answer has a request id; every request is counted and logged by route, not by address. */
export function answerWithId(
  http: FastifyInstance,
  answered: (method: string, route: string, status: number, seconds: number) => void,
  stalledMs: number,
): void {
  // Synchronous hooks call `done`: a promise would delay every request.
  http.addHook('onRequest', (request, reply, done) => {
    addCommonHeaders(request, reply);
    endWhenStalled(reply.raw, stalledMs);
    done();
  });
  http.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const route = request.routeOptions.url ?? 'unknown';
    const status = reply.statusCode;
    answered(method, route, status, reply.elapsedTime / 1_000);
    request.log.info({ method, route, status, ms: Math.round(reply.elapsedTime) }, 'answered');
    done();
  });
}

/**
 * Closing waits for accepted requests only. An idle keep-alive connection would keep the server
 * open as long as its client likes.
 */
export function closeAfterLastAnswer(http: FastifyInstance): void {
  let closing = false;
  let open = 0;
  const endConnections = () => {
    if (closing && open === 0) http.server.closeAllConnections();
  };
  http.addHook('onRequest', (_request, reply, done) => {
    open++;
    // Unlike `finish`, also emitted if the client has left.
    onceClosed(reply.raw, () => {
      open--;
      if (closing) setImmediate(endConnections);
    });
    done();
  });
  http.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
  http.addHook('preClose', async () => {
    closing = true;
    setImmediate(endConnections); // once the server takes no new ones
  });
}

const operations = ['/healthz', '/readyz', '/metrics'];

/** For a process with only the worker role: answers only health and metrics. */
export function answerOperationsOnly(http: FastifyInstance): void {
  http.addHook('onRequest', async ({ routeOptions }) => {
    if (operations.includes(routeOptions.url ?? '')) return;
    throw new AppError(
      'not_found',
      'this process only works in the background (--role worker); call another process',
    );
  });
}

/**
 * A call without documented parameters refuses any: a misspelt one, or one of another call, must
 * not be ignored silently. Health checks and pages, which are public, accept any.
 */
export function refuseUndocumentedParameters(http: FastifyInstance): void {
  http.addHook('preValidation', (request, _reply, done) => {
    const { schema, config } = request.routeOptions;
    const takesNone = schema !== undefined && schema.querystring === undefined;
    if (takesNone && config.scope !== 'public' && request.url.includes('?')) {
      readQuery(request, [], () => null);
    }
    done();
  });
}
