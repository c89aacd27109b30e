import { createHash } from 'node:crypto';
import { eventUuid, isObject, uuidTimeMs } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { headerValues } from '../access/operator-access.ts';
import { invalidParameter } from '../http/problem.ts';
import { Type } from '../http/type.ts';

const keyLengthMax = 255;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The call honours the header `Idempotency-Key`; other POST calls refuse it. */
    takesIdempotencyKey?: true;
  }
}

export const idempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: keyLengthMax,
      description:
        'With a `timestamp` in the body, the id derives from tenant, key and timestamp, so a repeated ' +
        'call is the same event. An `id` in the body counts instead of it. Without both: 400.',
    }),
  ),
});

/** A caller that sends the header relies on it, so a call that ignored it would do things twice. */
export function refuseIdempotencyKeys(http: FastifyInstance): void {
  http.addHook('preValidation', ({ method, headers, routeOptions }, _reply, done) => {
    const isSent = method === 'POST' && headers['idempotency-key'] !== undefined;
    if (!isSent || routeOptions.config.takesIdempotencyKey) return done();
    throw wrongKey('is taken by POST /api/audit-logs only; in a batch each event has its own id');
  });
}

/**
 * The `Idempotency-Key` of a call that records an event; null without one, or if the event has an
 * id, by which a repetition is recognised anyway. Throws `invalid_parameter`.
 */
export function idempotencyKeyOf({ raw, body }: FastifyRequest): string | null {
  const [key, ...more] = headerValues(raw.rawHeaders, 'idempotency-key');
  if (key === undefined) return null;
  if (more.length > 0) throw wrongKey('must be sent only once');
  if (key === '' || key.length > keyLengthMax) {
    throw wrongKey(`must have 1 to ${keyLengthMax} characters`);
  }
  if (!isObject(body) || body.id !== undefined) return null;
  if (body.timestamp !== undefined) return key;
  throw wrongKey(
    'needs a timestamp in the event, the same at every attempt; or send an id in the event instead',
  );
}

/** The UUID of the event that `tenantId` recorded with this key, for the time of `uuid`. */
export function keyedUuid(tenantId: string, key: string, uuid: string): string {
  const hash = createHash('sha256').update(`indelible/idempotency-key/v1\n${tenantId}\n${key}`);
  return eventUuid(uuidTimeMs(uuid), hash.digest());
}

const wrongKey = (rule: string) =>
  invalidParameter(
    { path: 'Idempotency-Key', code: 'invalid_value', message: rule },
    `the header Idempotency-Key ${rule}`,
  );
