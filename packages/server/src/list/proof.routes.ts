import {
  eventIdFromUuid,
  formatTimestamp,
  formatTlogProof,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lookAt } from '../access/look.ts';
import { operatorHeaders } from '../access/operator-access.ts';
import { readAsTenant } from '../access/tenant-access.ts';
import { FullEvent } from '../events/schemas.ts';
import { visibility } from '../events/store.ts';
import { acceptedType } from '../http/accepted-type.ts';
import { answer, idParams, LogParams, named, queryText } from '../http/field-schemas.ts';
import { AppError } from '../http/problem.ts';
import { readQuery } from '../http/query.ts';
import { waitingOutside } from '../http/tenant-reads.ts';
import { Type } from '../http/type.ts';
import { publishedCheckpoint } from '../log/checkpoint.store.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import {
  bodyLine,
  type ProofDeps,
  type Proven,
  proofJson,
  proveEvent,
  readBodies,
} from './proof.ts';

export type ProofRouteDeps = ProofDeps & Pick<Parts, 'recordAccess' | 'publicUrl'>;

const tags = ['Verification'];
const common = { config: { scope: 'events:read' as const, schema: 'documents' as const } };
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

const Proof = named('EventProof', {
  event: FullEvent,
  receivedAt: Type.String({ format: 'date-time' }),
  salts: Type.Record(Type.String(), Type.String({ pattern: '^[0-9a-f]{32}$' })),
  hashes: Type.Optional(
    Type.Record(Type.String(), Hash, {
      description: 'Of erased segments, in place of the salt.',
    }),
  ),
  identityMembers: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Personal members of the event that an older verifier may not know.',
    }),
  ),
  commitment: Hash,
  leafHash: Hash,
  sequence: Type.Integer({ minimum: 0 }),
  checkpoint: Type.String({ description: 'The signed note the path leads to.' }),
  path: Type.Array(Hash),
});

/** `GET /api/audit-logs/{id}/proof`, and the bodies of a whole log for `indelible verify`. */
export function proofRoutes(app: FastifyInstance, deps: ProofRouteDeps): void {
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

function readProof(request: FastifyRequest, deps: ProofRouteDeps): Promise<Proven> {
  const uuid = uuidFromEventId((request.params as { id: string }).id);
  // One read with one record of an operator's access, although it may read twice.
  return readAsTenant(request, deps.recordAccess, lookAt('event', request), ({ tenantId }) =>
    proveEvent(waitingOutside(request, deps), tenantId, uuid),
  );
}

/** Every event that the plan shows, by id, with states and salts: NDJSON, page by page. */
function bodiesRoute(app: FastifyInstance, deps: ProofRouteDeps): void {
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
            return { ...(await readBodies(visible, after)), oldest: visible.oldest };
          }),
      );
      reply.header('retention-cutoff', formatTimestamp(uuidTimeMs(oldest)));
      const last = rows.at(-1);
      if (more && last) {
        const next = `${deps.publicUrl()}/l/${logId}/events?after=${eventIdFromUuid(last.uuid)}`;
        reply.header('link', `<${next}>; rel="next"`);
      }
      const lines = rows.map((row) => `${bodyLine(row)}\n`);
      return reply.type('application/x-ndjson').send(lines.join(''));
    },
  );
}

function afterParam(request: FastifyRequest): string | null {
  return readQuery(
    request,
    ['after'],
    (reader) => reader.one('after', 'an event id', uuidFromEventId) ?? null,
  );
}
