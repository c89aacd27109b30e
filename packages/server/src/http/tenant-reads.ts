import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FairQueue } from './fair-queue.ts';
import { onceClosed } from './once-closed.ts';
import { AppError, unavailable } from './problem.ts';

type KindOfRead = 'page' | 'statistics' | 'search';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a call reads; a `page` unless it says otherwise. */
    reads?: KindOfRead;
  }
  interface FastifyRequest {
    /** Of reads: aborts when the caller hangs up before the answer was sent. */
    gone: AbortSignal | undefined;
  }
}

const waitMs = 10_000;

/** Parts of the readers' connections; the rest is left to exports, and to what is not a call. */
const parts: Record<KindOfRead, number> = { page: 0.4, statistics: 0.2, search: 0.2 };

/**
 * Gives reads of events their connections in fair order. Each kind of read has connections of its
 * own; a tenant may take all but one of them. Further ones wait, 50 of a tenant, for ten seconds. A
 * read that goes on when its caller has hung up keeps its slot: else any number of them could run.
 */
export function queueReads(http: FastifyInstance, connections: number): void {
  const queueOf = (kind: KindOfRead) => {
    const max = Math.max(1, Math.floor(connections * parts[kind]));
    const queue = new FairQueue({ max, waitingPerCaller: waitingMax, waitMs }, tooMany);
    return { queue, share: Math.max(1, max - 1) };
  };
  const queues = {
    page: queueOf('page'),
    statistics: queueOf('statistics'),
    search: queueOf('search'),
  };
  const releases = new WeakMap<FastifyRequest, () => void>();
  http.decorateRequest('gone');
  http.addHook('onRoute', (route) => {
    const isRead = [route.method].flat().some((method) => method === 'GET' || method === 'HEAD');
    const kind = route.config?.reads ?? (isRead ? 'page' : undefined);
    if (kind === undefined) return;
    const { queue, share } = queues[kind];
    const take = async (request: FastifyRequest, reply: FastifyReply) => {
      if (!request.principal) return;
      request.gone = whenGone(reply);
      const taken = await queue.take({ caller: tenantOf(request), size: 1, share }, request.gone);
      releases.set(request, taken);
    };
    // Not when the answer has ended: a reader may take its time.
    const release = async (request: FastifyRequest) => releases.get(request)?.();
    const { handler } = route;
    route.handler = function (request, reply) {
      const answer = handler.call(this, request, reply);
      return answer instanceof Promise ? answer.finally(() => release(request)) : answer;
    };
    route.preHandler = [route.preHandler ?? [], take].flat();
    route.onSend = [route.onSend ?? [], release].flat();
  });
}

const waitingMax = 50;

/** Aborts when the caller hangs up before the answer was sent. */
export function whenGone(reply: Pick<FastifyReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  onceClosed(reply.raw, () => {
    if (!reply.raw.writableFinished) gone.abort(unavailable('the caller has hung up'));
  });
  return gone.signal;
}

/** Whose reads wait behind one another: an operator's with those of the tenant. */
function tenantOf({ principal, headers }: FastifyRequest): string {
  return principal.tenantId ?? String(headers['x-tenant-id'] ?? 'platform').toLowerCase();
}

function tooMany(): AppError {
  const detail =
    'too many questions of this tenant are asked at the same time; wait, and ask narrower ones';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '5' } });
}
