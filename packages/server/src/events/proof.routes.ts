import {
  eventIdFromUuid,
  formatTimestamp,
  formatTlogProof,
  inclusionProof,
  type ListQuery,
  leafHash,
  type SegmentHex,
  type Sha256,
  segmentNames,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { lookAt, operatorHeaders, type RecordAccess, readAsTenant } from '../access/index.ts';
import {
  AppError,
  acceptedType,
  answer,
  idParams,
  LogParams,
  queryText,
  readQuery,
  strict,
  unavailable,
} from '../http/index.ts';
import {
  type PublishedCheckpoint,
  publishedCheckpoint,
  treeNodes,
  unreadable,
} from '../log/index.ts';
import { type Database, readTenant, type TenantTx } from '../postgres/index.ts';
import { searchCopies } from './event-columns.store.ts';
import type { Visibility } from './filter-sql.store.ts';
import { type ListedRow, listEvents } from './list.store.ts';
import { eventJson, hasState, openersOf, type StoredEvent, storedEntry } from './prepared-event.ts';
import { FullEvent } from './schemas.ts';
import { getEvent, visibility } from './store.ts';

export interface ProofDeps {
  db: Database;
  sha: Sha256;
  now: () => number;
  /** Publishes a checkpoint of everything recorded so far, or throws `unavailable`. */
  publishCheckpoint: () => Promise<void>;
  recordAccess: RecordAccess;
  publicUrl: () => string;
}

const tags = ['Verification'];
const common = { config: { scope: 'events:read' as const, schema: 'documents' as const } };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

const Proof = Type.Object(
  {
    event: FullEvent,
    receivedAt: Type.String({ format: 'date-time' }),
    salts: Type.Record(Type.String(), Type.String({ pattern: '^[0-9a-f]{32}$' })),
    hashes: Type.Optional(
      Type.Record(Type.String(), Hash, {
        description: 'Of erased segments, in place of the salt.',
      }),
    ),
    commitment: Hash,
    leafHash: Hash,
    sequence: Type.Integer({ minimum: 0 }),
    checkpoint: Type.String({ description: 'The signed note the path leads to.' }),
    path: Type.Array(Hash),
  },
  { ...strict, title: 'EventProof' },
);

/** `GET /api/audit-logs/{id}/proof`, and the bodies of a whole log for `indelible verify`. */
export function proofRoutes(app: FastifyInstance, deps: ProofDeps): void {
  app.get(
    '/api/audit-logs/:id/proof',
    {
      ...common,
      schema: {
        tags,
        operationId: 'getEventProof',
        summary: 'Proof that an event is in the log',
        description: 'JSON, or with `Accept: text/plain` a C2SP tlog-proof.',
        params: idParams('`evt_audit_…`'),
        headers: operatorHeaders,
        response: {
          200: answer('The proof.', ['application/json', Proof], ['text/plain', Type.String()]),
        },
      },
    },
    async (request, reply) => {
      const proof = await readProof(request, deps);
      const type = acceptedType(request.headers.accept, ['application/json', 'text/plain']);
      reply.header('vary', 'accept');
      if (type === 'application/json')
        return reply.type('application/json; charset=utf-8').send(proofJson(proof, deps.sha));
      const { event, checkpoint, path } = proof;
      const text = formatTlogProof({ index: event.sequence, path, checkpoint: checkpoint.note });
      return reply.type('text/plain; charset=utf-8').send(text);
    },
  );
  bodiesRoute(app, deps);
}

interface Proven {
  event: StoredEvent;
  checkpoint: PublishedCheckpoint;
  path: Uint8Array[];
}

function readProof(request: FastifyRequest, deps: ProofDeps): Promise<Proven> {
  const uuid = uuidFromEventId((request.params as { id: string }).id);
  // One read with one record of an operator's access, although it may read twice.
  return readAsTenant(
    request,
    deps.recordAccess,
    lookAt('event', request),
    async ({ tenantId }) => {
      const read = () => readTenant(deps.db, tenantId, (tx) => prove(tx, uuid, deps));
      // For an event after the last checkpoint the service signs a new one.
      const proven = (await read()) ?? (await deps.publishCheckpoint().then(read));
      if (proven === null) throw unavailable('no checkpoint covers this event yet; try again');
      return proven;
    },
  );
}

/** Null if no released checkpoint covers the event yet. */
async function prove(
  tx: TenantTx,
  uuid: string | null,
  { sha, now }: ProofDeps,
): Promise<Proven | null> {
  // In parallel.
  const [visible, log] = await Promise.all([visibility(tx, now()), publishedCheckpoint(tx)]);
  const event = visible && uuid && (await getEvent(tx, uuid, visible));
  if (!event) throw new AppError('not_found', 'there is no such event');
  const checkpoint = log?.checkpoint ?? null;
  if (event.sequence < 0) throw unreadable('an event has no entry in its log', tx.tenantId);
  if (checkpoint === null || checkpoint.size <= event.sequence) return null;
  const path = await inclusionProof(sha, treeNodes(tx, sha), event.sequence, checkpoint.size);
  return { event, checkpoint, path };
}

function proofJson({ event, checkpoint, path }: Proven, sha: Sha256): string {
  const { entry, commitment } = storedEntry(sha, event);
  const rest = {
    receivedAt: new Date(event.receivedAtMs).toISOString(),
    ...segmentsOf(event),
    commitment: hex(commitment),
    leafHash: hex(leafHash(sha, entry)),
    sequence: event.sequence,
    checkpoint: checkpoint.note,
    path: path.map(hex),
  };
  return `{"event":${fullJson(event)},${JSON.stringify(rest).slice(1)}`;
}

// Erased segments appear as hashes: a body contains no unproven member.
const fullJson = (event: StoredEvent) =>
  eventJson({ ...event, erased: null }, true, hasState(event));

/** For each segment its salt, which gives the hash with the text; for an erased one the hash. */
function segmentsOf(event: StoredEvent): { salts: SegmentHex; hashes?: SegmentHex } {
  const { salts, hashes } = openersOf(event);
  const byName = (list: readonly (Uint8Array | null)[]): SegmentHex =>
    Object.fromEntries(
      segmentNames.flatMap((name, index) => {
        const bytes = list[index];
        return bytes ? [[name, hex(bytes)]] : [];
      }),
    );
  const isWhole = hashes.every((hash) => hash === null);
  return { salts: byName(salts), ...(isWhole ? {} : { hashes: byName(hashes) }) };
}

const bodiesPerPage = 2_000;

/** Every event that the plan shows, by id, with states and salts: NDJSON, page by page. */
function bodiesRoute(app: FastifyInstance, deps: ProofDeps): void {
  app.get(
    '/l/:logId/events',
    {
      ...common,
      schema: {
        tags,
        operationId: 'listEventBodies',
        summary: 'The bodies behind the log, with their salts',
        description:
          'NDJSON lines `{event, salts, hashes?}` in order of id, at most 2,000 events or 8 MiB; `Link: rel="next"` leads on. ' +
          '`Retention-Cutoff` is the first moment that the plan still shows: older bodies may be gone.',
        params: LogParams,
        querystring: Type.Object({
          after: Type.Optional(queryText('An event id.')),
        }),
        headers: operatorHeaders,
        response: { 200: answer('The lines.', ['application/x-ndjson', Type.String()]) },
      },
    },
    async (request, reply) => {
      const { logId } = request.params as { logId: string };
      const after = afterParam(request);
      const { rows, more, oldest } = await readAsTenant(
        request,
        deps.recordAccess,
        lookAt('log', request),
        ({ tenantId }) =>
          readTenant(deps.db, tenantId, async (tx) => {
            const log = await publishedCheckpoint(tx);
            const visible = await visibility(tx, deps.now());
            if (!visible || log?.logId.replaceAll('-', '') !== logId)
              throw new AppError('not_found', 'there is no such log');
            return { ...(await readBodies(tx, visible, after)), oldest: visible.oldest };
          }),
      );
      reply.header('retention-cutoff', formatTimestamp(uuidTimeMs(oldest)));
      const last = rows.at(-1);
      if (more && last) {
        const next = `${deps.publicUrl()}/l/${logId}/events?after=${eventIdFromUuid(last.uuid)}`;
        reply.header('link', `<${next}>; rel="next"`);
      }
      const lines = rows.map(
        (row) => `{"event":${fullJson(asFound(row))},${JSON.stringify(segmentsOf(row)).slice(1)}\n`,
      );
      return reply.type('application/x-ndjson').send(lines.join(''));
    },
  );
}

/**
 * Searches use copies of some values that no proof covers. If they differ, both are shown as the
 * address, so that the body does not match its entry, whichever was changed.
 */
function asFound(row: ListedRow): StoredEvent {
  const { actorEmail, emailKey, outcome, actorType, correlationId, onBehalfOf } = row;
  const found = JSON.stringify({ emailKey, outcome, actorType, correlationId, onBehalfOf });
  const expected = { emailKey: (actorEmail ?? '').toLowerCase(), ...searchCopies(row) };
  if (found === JSON.stringify(expected)) return row;
  return { ...row, actorEmail: `${actorEmail ?? ''} (found as ${found})` };
}

function afterParam(request: FastifyRequest): string | null {
  return readQuery(
    request,
    ['after'],
    (reader) => reader.one('after', 'an event id', uuidFromEventId) ?? null,
  );
}

function readBodies(tx: TenantTx, visible: Visibility, after: string | null) {
  const query: ListQuery = {
    filter: {},
    sort: 'timestamp',
    order: 'asc',
    limit: bodiesPerPage,
    include: { total: false, state: true },
  };
  const position =
    after === null ? null : { direction: 'next' as const, uuid: after, emailKey: '', sequence: 0 };
  return listEvents(tx, query, visible, position);
}
