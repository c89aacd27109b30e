import {
  batchBytesMax,
  batchEventsMax,
  type ErrorCode,
  type EventRefusal,
  eventBytesMax,
  eventIdFromUuid,
  type FieldProblem,
  fieldProblemsMax,
  isObject,
  leafHash,
  type Masker,
  parseStrictJson,
  pointerOf,
  problemsText,
  type Sha256,
  type StrictJson,
  takeEvent,
  tooLarge,
  type WarningCode,
  type WarningPaths,
  withCommas,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  eventJson,
  hasState,
  type PreparedEvent,
  prepare,
  type StoredEvent,
  storedEntry,
} from '../events/prepared-event.ts';
import {
  BatchInput,
  BatchResults,
  EventInput,
  eventExample,
  RecordedEvent,
} from '../events/schemas.ts';
import { answer } from '../http/field-schemas.ts';
import { givingWay } from '../http/giving-way.ts';
import { callerOf, readJson } from '../http/http.ts';
import { parseInTurn } from '../http/large-bodies.ts';
import { AppError, invalid, repeatedMember, unavailable } from '../http/problem.ts';
import { splitBatch } from './batch-body.ts';
import type { GroupCommit } from './flush.ts';
import { idempotencyHeaders, idempotencyKeyOf, keyedUuid } from './idempotency-key.ts';
import type { OwnEventDeps } from './own-events.store.ts';
import type { Outcome } from './record-queue.ts';

export interface RecordDeps extends OwnEventDeps {
  groupCommit: GroupCommit;
  masker: Masker;
  /** Events that happened longer ago are warned of. */
  backdatedMs: number;
}

const description =
  'Send an `id` to make the call idempotent: the same id with the same content answers 200 with the ' +
  'stored event, with other content 409. `crossTenant`, `category`, `sequence`, `receivedAt` and ' +
  '`recordedBy` are set by the server.';

const config = {
  ...({ scope: 'events:write', schema: 'documents' } as const),
  judgesDuplicateKeys: true,
};

/** `POST /api/audit-logs` and `/batch`: records events, answers with their sequences. */
export function recordRoutes(app: FastifyInstance, deps: RecordDeps): void {
  app.post(
    '/api/audit-logs',
    {
      bodyLimit: eventBytesMax,
      config: { ...config, takesIdempotencyKey: true },
      schema: {
        tags: ['Events'],
        operationId: 'recordEvent',
        'x-refuses': [409],
        summary: 'Record an event',
        description,
        headers: idempotencyHeaders,
        body: { ...EventInput, examples: [eventExample] },
        response: {
          201: answer('Recorded and durable.', ['application/json', RecordedEvent]),
          200: answer('Was recorded before.', ['application/json', RecordedEvent]),
        },
      },
    },
    async (request, reply) => recordOne(request, reply, deps),
  );
  app.post(
    '/api/audit-logs/batch',
    {
      bodyLimit: batchBytesMax,
      config: { ...config, readsBody: true },
      schema: {
        tags: ['Events'],
        operationId: 'recordEvents',
        summary: `Record up to ${withCommas(batchEventsMax)} events`,
        description:
          'One bad event never blocks the others; the results always agree with what is stored.',
        body: BatchInput,
        response: { 200: BatchResults },
      },
    },
    async (request) => {
      const results = await recordBatch(request, deps);
      // A forwarder that looks at the status alone must not take refused events for stored ones.
      if (results.every(isRefused))
        throw new AppError('validation_failed', 'every event was refused', { results });
      return { results };
    },
  );
}

function take(
  sent: Omit<StrictJson, 'duplicateKeys'>,
  request: FastifyRequest,
  deps: RecordDeps,
  idempotencyKey: string | null = null,
) {
  const { catalogue, masker, newUuid, now, backdatedMs } = deps;
  const { id, tenantId } = request.principal;
  const taken = takeEvent(sent.value, {
    nowMs: now(),
    newUuid,
    catalogue,
    masker,
    recordedBy: { kind: 'api_key', id },
    boundTenantId: tenantId,
    backdatedMs,
    numbersAsText: sent.numbersAsText,
  });
  if (taken.refusal) return taken;
  const { event } = taken;
  if (idempotencyKey) event.uuid = keyedUuid(event.tenantId, idempotencyKey, event.uuid);
  return { ...taken, event: prepare(event, deps.sha, deps.random) };
}

async function recordOne(request: FastifyRequest, reply: FastifyReply, deps: RecordDeps) {
  const duplicates = duplicateKeyProblem(request.duplicateKeys);
  if (duplicates) throw errorOf(duplicates);
  if (isBatch(request.body)) {
    const message = `must be one event; send several to ${request.url}/batch as {"events": […]}`;
    throw invalid([{ path: '', code: 'wrong_type', message }]);
  }
  const { body: value, numbersAsText } = request;
  const taken = take({ value, numbersAsText }, request, deps, idempotencyKeyOf(request));
  if (taken.refusal) throw errorOf(taken.refusal);
  const { event } = taken;
  const { recheckKeyId } = request.principal;
  const [outcome] = await deps.groupCommit.record([event], recheckKeyId);
  if (!outcome) throw new Error('an event without an outcome');
  if (outcome.status === 'conflict') throw new AppError('id_conflict');
  if (outcome.status === 'rejected') throw rejected(outcome);
  reply.header('location', `/api/audit-logs/${eventIdFromUuid(event.uuid)}`);
  reply.code(outcome.status === 'created' ? 201 : 200).type('application/json; charset=utf-8');
  if (outcome.status === 'duplicate')
    return recordedJson(outcome.stored, storedLeafHash(outcome.stored, deps.sha), taken);
  const { sequence, receivedAtMs } = outcome;
  const stored = Object.assign(event, { sequence, receivedAtMs });
  return recordedJson(stored, outcome.leafHash, taken);
}

const isBatch = (body: unknown) =>
  Array.isArray(body) || (isObject(body) && Object.hasOwn(body, 'events'));

function rejected({ code, detail }: { code: ErrorCode; detail: string }): AppError {
  return code === 'unavailable' ? unavailable(detail) : new AppError(code, detail);
}

function errorOf(refusal: EventRefusal): AppError {
  return new AppError(
    refusal.code,
    refusal.detail,
    refusal.errors ? { errors: refusal.errors } : {},
  );
}

function recordedJson(
  event: StoredEvent,
  hash: Uint8Array,
  { warnings, warningPaths }: Warned,
): string {
  const json = eventJson(event, true, hasState(event));
  const more = { leafHash: Buffer.from(hash).toString('hex'), warnings, warningPaths };
  return `${json.slice(0, -1)},${JSON.stringify(more).slice(1)}`;
}

// The entry that was appended then: everything that it hashes is stored with the event.
function storedLeafHash(stored: StoredEvent, sha: Sha256): Uint8Array {
  return leafHash(sha, storedEntry(sha, stored).entry);
}

const isRefused = ({ status, error }: BatchResult) =>
  status === 'rejected' && error?.code !== 'unavailable';

/** What was changed or missing, and where. */
interface Warned {
  warnings: WarningCode[];
  warningPaths: WarningPaths;
}

interface BatchResult extends Partial<Warned> {
  index: number;
  status: 'created' | 'duplicate' | 'rejected';
  id?: string;
  sequence?: number;
  error?: EventRefusal;
}

/** A valid event on its way to the log. */
interface Accepted extends Warned {
  index: number;
  event: PreparedEvent;
}

// Computed diffs enlarge events, so a batch is processed in parts that fit into memory.
const partBytesMax = 16 * 2 ** 20;
/** The most field errors in one answer, besides the first of each event. */
const batchProblemsMax = 2_000;

async function recordBatch(request: FastifyRequest, deps: RecordDeps): Promise<BatchResult[]> {
  const events = await parseInTurn(callerOf(request), () => readBatch(request.body as Buffer));
  const results: BatchResult[] = [];
  let part: Accepted[] = [];
  let partBytes = 0;
  let problemsLeft = batchProblemsMax;
  const giveWay = givingWay();
  for (const [index, sent] of events.entries()) {
    await giveWay(); // a large batch takes seconds of processor time
    const taken = takeFromBatch(sent, request, deps);
    if (taken.refusal) {
      const error = shortened(taken.refusal, Math.max(1, problemsLeft));
      problemsLeft -= error.errors?.length ?? 0;
      results[index] = { index, status: 'rejected', error };
      continue;
    }
    part.push({ index, ...taken });
    partBytes += taken.event.bytes;
    if (partBytes < partBytesMax) continue;
    await recordPart(part, request, deps, results);
    part = [];
    partBytes = 0;
  }
  await recordPart(part, request, deps, results);
  refuseWhenNothingGotThrough(results);
  return results;
}

function shortened(refusal: EventRefusal, problemsMax: number): EventRefusal {
  const { errors } = refusal;
  return errors ? { ...refusal, errors: errors.slice(0, problemsMax) } : refusal;
}

/** An event of a batch. */
type SentEvent = StrictJson | 'too_large';

function takeFromBatch(sent: SentEvent, request: FastifyRequest, deps: RecordDeps) {
  if (sent === 'too_large') return tooLarge;
  const refusal = duplicateKeyProblem(sent.duplicateKeys);
  return refusal ? { refusal } : take(sent, request, deps);
}

async function recordPart(
  part: readonly Accepted[],
  request: FastifyRequest,
  deps: RecordDeps,
  results: BatchResult[],
): Promise<void> {
  const outcomes = await deps.groupCommit
    .record(
      part.map(({ event }) => event),
      request.principal.recheckKeyId,
    )
    .catch((error: unknown): Outcome[] => {
      if (!(error instanceof AppError)) throw error;
      // An earlier part may be stored, so a full queue refuses only these events.
      return part.map(() => ({ status: 'rejected', code: error.code, detail: error.message }));
    });
  part.forEach((accepted, position) => {
    const outcome = outcomes[position];
    if (outcome) results[accepted.index] = resultOf(accepted, outcome);
  });
}

/** If the reason is not in the events, the whole call is refused and may be retried. */
function refuseWhenNothingGotThrough(results: readonly BatchResult[]): void {
  const tried = results.filter((result) => result.id !== undefined);
  const [code, ...others] = new Set(tried.map(({ error }) => error?.code));
  if (others.length > 0) return;
  if (code === 'unavailable') throw unavailable(commonDetail(tried));
  if (code === 'unauthenticated')
    throw new AppError(code, 'the API key is revoked or expired; nothing was recorded');
}

/** The common reason of all refusals, if there is one. */
function commonDetail(refused: readonly BatchResult[]): string {
  const [detail, ...others] = new Set(refused.map(({ error }) => error?.detail));
  if (detail !== undefined && others.length === 0) return detail;
  return 'the events could not be recorded; retry with the same ids';
}

function resultOf(accepted: Accepted, outcome: Outcome): BatchResult {
  const { index, event, warnings, warningPaths } = accepted;
  const id = eventIdFromUuid(event.uuid);
  if (outcome.status === 'created' || outcome.status === 'duplicate') {
    const { status } = outcome;
    const { sequence } = status === 'created' ? outcome : outcome.stored;
    return { index, status, id, sequence, warnings, warningPaths };
  }
  const error: EventRefusal =
    outcome.status === 'conflict'
      ? { code: 'id_conflict', detail: 'this id is already stored with different content' }
      : { code: outcome.code, detail: outcome.detail };
  return { index, status: 'rejected', id, error };
}

/** The events of a batch, parsed one by one; a wrong envelope refuses the whole batch. */
async function readBatch(body: Buffer): Promise<SentEvent[]> {
  const { events, names } = readJson(body, splitBatch);
  const errors = envelopeProblems(names);
  const code = batchProblem(events);
  if (code !== null) {
    const form = 'send {"events": […]} here, and a single event to /api/audit-logs';
    const message = `must be an array of 1 to ${batchEventsMax} events: ${form}`;
    errors.unshift({ path: '/events', code, message });
  }
  if (errors.length > 0) throw invalid(errors, `${problemsText(errors)}; nothing was recorded`);
  const giveWay = givingWay();
  const sent: SentEvent[] = [];
  for (const bytes of events ?? []) {
    await giveWay();
    sent.push(
      bytes.length > eventBytesMax ? 'too_large' : readJson(body, () => parseStrictJson(bytes)),
    );
  }
  return sent;
}

function envelopeProblems(names: readonly string[]): FieldProblem[] {
  const repeated = new Set(names.filter((name, at) => names.indexOf(name) < at));
  const message = 'is not a field of this object';
  const unknown = [...new Set(names)].filter((name) => name !== 'events');
  return [
    ...[...repeated].map((name) => repeatedMember(pointerOf(name))),
    ...unknown.map((name) => ({ path: pointerOf(name), code: 'unknown_field', message })),
  ].slice(0, fieldProblemsMax);
}

function batchProblem(events: readonly Uint8Array[] | null | undefined) {
  if (events === undefined) return 'required';
  if (events === null) return 'invalid_type';
  if (events.length === 0) return 'too_few';
  return events.length > batchEventsMax ? 'too_many' : null;
}

function duplicateKeyProblem(paths: readonly string[]): EventRefusal | null {
  if (paths.length === 0) return null;
  const detail = 'the event repeats a member';
  return { code: 'validation_failed', detail, errors: paths.map(repeatedMember) };
}
