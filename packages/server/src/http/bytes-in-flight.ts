import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FairQueue, type Wanted } from './fair-queue.ts';
import { onceClosed } from './once-closed.ts';
import { AppError, unavailable } from './problem.ts';
import { whenGone } from './tenant-reads.ts';

/** What a body counts at least: its request takes memory too. */
const bodyBytesMin = 32 * 1024;

/** Smaller answers fit into the buffers of their connection. */
const answerBytesMin = 64 * 1024;

/** Requests of a caller that wait, their bodies unread. */
const waitingMax = 1_000;

/**
 * Bounds the memory of bodies and answers. A body counts with its announced size from its first
 * byte, an answer from when it is made; both count until the answer has ended. So endless bodies,
 * and readers that stop, use up the share of their caller only. A tenant has a quarter, and each
 * leaves as much free as it has, up to a quarter: a capsule, larger than half of all, has room
 * beside small calls. Without room, answers that are read for more than `readMs` end. If there are
 * none, a body waits unread for `waitMs`. Then it throws `rate_limited` if the caller has taken its
 * share, `unavailable` if others have taken the rest. An answer does not wait. Bodies without a
 * credential are bounded elsewhere.
 */
export function limitBytesInFlight(
  http: FastifyInstance,
  { bytesMax, waitMs, readMs }: { bytesMax: number; waitMs: number; readMs: number },
): void {
  const refusal = (wanted: Wanted) =>
    queue.hasTakenShare(wanted)
      ? tooMany()
      : unavailable('too many bodies and answers are under way');
  const limits = { max: bytesMax, waitingPerCaller: waitingMax, waitMs, leavesMax: bytesMax / 4 };
  const queue = new FairQueue(limits, refusal);
  const unread = new UnreadAnswers(readMs);
  const wantedBy = (request: FastifyRequest, size: number): Wanted => {
    const { caller, part } = shareOf(request);
    return { caller, size, share: bytesMax * part };
  };
  http.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = announcedBytes(request);
    if (bytes === 0 || !request.principal) return done(null, payload);
    const wanted = wantedBy(request, Math.max(bytes, bodyBytesMin));
    const read = (release: () => void) => {
      onceClosed(reply.raw, release);
      done(null, payload);
    };
    const release = takeAtOnce(wanted);
    if (release) return read(release);
    reply.header('connection', 'close'); // if it is refused, the rest of the body is not read
    queue.take(wanted, whenGone(reply)).then((later) => {
      reply.removeHeader('connection');
      read(later);
    }, done);
  });
  http.addHook('onSend', (request, reply, payload, done) => {
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    const bytes = isText ? payload.length : 0;
    if (request.principal && bytes >= answerBytesMin) admitAnswer(request, reply, bytes);
    done(null, payload);
  });

  /** Null without room, and without an overdue answer that could make some. */
  function takeAtOnce(wanted: Wanted): (() => void) | null {
    const release = queue.tryTake(wanted);
    if (release) return release;
    const from = queue.hasTakenShare(wanted) ? wanted.caller : null;
    return unread.endOverdue(from) ? takeAtOnce(wanted) : null;
  }

  function admitAnswer(request: FastifyRequest, { raw }: FastifyReply, bytes: number): void {
    const wanted = wantedBy(request, bytes);
    const release = takeAtOnce(wanted);
    if (!release) throw refusal(wanted);
    unread.add(wanted.caller, raw, release);
  }
}

/** Answers that their callers have not read to their end, and what each gives back then. */
class UnreadAnswers {
  readonly #readMs: number;
  /** The oldest first. */
  readonly #answers = new Set<{ caller: string; sinceMs: number; end(): void }>();

  constructor(readMs: number) {
    this.#readMs = readMs;
  }

  add(caller: string, response: ServerResponse, release: () => void): void {
    const leave = () => {
      this.#answers.delete(answer);
      release();
    };
    const end = () => {
      leave();
      response.destroy();
    };
    const answer = { caller, sinceMs: performance.now(), end };
    this.#answers.add(answer);
    onceClosed(response, leave);
  }

  /** Ends the oldest answer, of this caller unless null, if it is overdue; false: there is none. */
  endOverdue(caller: string | null): boolean {
    const dueMs = performance.now() - this.#readMs;
    for (const answer of this.#answers) {
      if (answer.sinceMs > dueMs) return false;
      if (caller !== null && answer.caller !== caller) continue;
      answer.end();
      return true;
    }
    return false;
  }
}

/** A body of unknown size counts as the largest that its call takes. */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  const { bodyLimit = 0 } = routeOptions;
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  return Math.min(Number(headers['content-length'] ?? 0), bodyLimit);
}

function shareOf({ principal }: FastifyRequest): { caller: string; part: number } {
  const { tenantId } = principal;
  return tenantId === null ? { caller: 'platform', part: 1 } : { caller: tenantId, part: 1 / 4 };
}

function tooMany(): AppError {
  const detail =
    'too many bodies and answers with this credential are under way; send fewer at the same time';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '1' } });
}
