import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FairQueue, type Wanted } from './fair-queue.ts';
import { onceClosed } from './once-closed.ts';
import { AppError, unavailable } from './problem.ts';

type KindOfRead = 'page' | 'statistics' | 'search';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a call reads; a `page` unless it says otherwise. */
    reads?: KindOfRead;
  }
  interface FastifyRequest {
    /** Aborts when the caller of a read hangs up before the answer was sent. */
    gone: AbortSignal | undefined;
    /** Waits for work that needs no connection, and leaves a read's slot to others meanwhile. */
    withoutSlot(wait: () => Promise<void>): Promise<void>;
  }
}

interface Slot {
  take(): Promise<void>;
  release(): void;
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
  const slots = new WeakMap<FastifyRequest, Slot>();
  http.decorateRequest('gone');
  http.decorateRequest('withoutSlot', function (this: FastifyRequest, wait: () => Promise<void>) {
    const slot = slots.get(this);
    slot?.release();
    return wait().finally(() => slot?.take());
  });
  http.addHook('onRoute', (route) => {
    const isRead = [route.method].flat().some((method) => method === 'GET' || method === 'HEAD');
    const kind = route.config?.reads ?? (isRead ? 'page' : undefined);
    if (kind === undefined) return;
    const { queue, share } = queues[kind];
    const take = async (request: FastifyRequest, reply: FastifyReply) => {
      if (!request.principal) return;
      request.gone = whenGone(reply);
      const slot = slotOf(queue, { caller: tenantOf(request), size: 1, share }, request.gone);
      await slot.take();
      slots.set(request, slot);
    };
    // Not when the answer has ended: a reader may take its time.
    const release = async (request: FastifyRequest) => slots.get(request)?.release();
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

function slotOf(queue: FairQueue, wanted: Wanted, gone: AbortSignal): Slot {
  let release = () => {};
  let again = false;
  return {
    take: async () => {
      release = await queue.take({ ...wanted, again }, gone);
      again = true;
    },
    release: () => release(),
  };
}

/** Aborts when the caller hangs up before the answer was sent. */
export function whenGone(reply: Pick<FastifyReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  onceClosed(reply.raw, () => {
    if (!reply.raw.writableFinished) gone.abort(unavailable('the caller has hung up'));
  });
  return gone.signal;
}

/** These deps for a call that leaves its slot to others while it waits for a checkpoint. */
export function waitingOutside<Deps extends { publishCheckpoint: () => Promise<void> }>(
  request: FastifyRequest,
  deps: Deps,
): Deps {
  const publishCheckpoint = () => request.withoutSlot(deps.publishCheckpoint);
  return { ...deps, publishCheckpoint };
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
