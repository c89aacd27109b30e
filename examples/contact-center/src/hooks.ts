import {
  type RestoreRequested,
  verifyWebhook,
  type WebhookMessage,
  WebhookVerificationError,
} from '@indelible/client/webhooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { inTransaction } from './audit.ts';
import { changeEvent } from './change-event.ts';
import { type Tx, transaction } from './database.ts';
import type { HostDeps } from './host-deps.ts';
import { findPerson, findTenant, mayConfigure } from './people.ts';
import { findType, InputError, judged } from './resource-types.ts';
import {
  findSecrets,
  keepReceived,
  keepRestoreAnswer,
  lockResource,
  lockRestoreAnswer,
  writeResource,
} from './store.ts';

type Answer = { status: 'applied' } | { status: 'refused'; reason: string };

interface Call {
  Params: { tenantId: string };
  Body: string;
}

/** Messages hold up to 4 MiB of events; of more than 1 MiB Fastify would take none. */
const bodyLimit = 5 * 2 ** 20;

/** What the audit log service calls: restores, and the events it has recorded. */
export function hookRoutes(app: FastifyInstance, deps: HostDeps): void {
  app.register(async (hooks) => {
    // A signature is made of the very bytes that were sent.
    hooks.removeAllContentTypeParsers();
    const asSent = { parseAs: 'string', bodyLimit } as const;
    hooks.addContentTypeParser('application/json', asSent, (_, body, done) => done(null, body));
    hooks.setErrorHandler((error, _, reply: FastifyReply) => {
      const code = statusOf(error);
      if (code >= 500) console.error(error);
      return reply.code(code).send();
    });
    hooks.post<Call>('/hooks/restore/:tenantId', async (request, reply) => {
      const call = await verified(request, deps, 'restore');
      if (call.type !== 'audit.restore.requested') return reply.code(400).send();
      return transaction(deps.pool, (tx) => answerOnce(tx, deps, request, call));
    });
    hooks.post<Call>('/hooks/events/:tenantId', async (request, reply) => {
      const message = await verified(request, deps, 'webhook');
      // Whatever else may come one day is taken note of, and done with.
      const events = message.type === 'audit.events.recorded' ? message.data.events : [];
      for (const event of events) await keepReceived(deps.pool, request.params.tenantId, event);
      return reply.code(204).send();
    });
  });
}

/** 401 without a valid signature; other errors keep the status of the framework. */
function statusOf(error: unknown): number {
  if (error instanceof WebhookVerificationError) return 401;
  return (error as { statusCode?: number }).statusCode ?? 500;
}

async function verified(
  { params, body, headers }: FastifyRequest<Call>,
  { pool }: HostDeps,
  kind: 'restore' | 'webhook',
): Promise<WebhookMessage> {
  const { tenantId } = params;
  const secrets = findTenant(tenantId) && (await findSecrets(pool, tenantId));
  if (!secrets) throw new WebhookVerificationError('wrong_signature', 'there is no such tenant');
  const { message } = await verifyWebhook(body, headers, secrets[kind]);
  const meant = message.type === 'audit.restore.requested' ? message : message.data;
  if (meant.tenantId === tenantId) return message;
  throw new WebhookVerificationError('wrong_signature', 'the message is for another tenant');
}

/** Answers a call that may come twice: the transaction that acts also keeps the answer. */
async function answerOnce(
  tx: Tx,
  deps: HostDeps,
  request: FastifyRequest<Call>,
  call: RestoreRequested,
): Promise<Answer> {
  const known = (await lockRestoreAnswer(tx, call.id)) as Answer | null;
  if (known) return known;
  const answer = await restore(tx, deps, request, call);
  await keepRestoreAnswer(tx, call.id, answer);
  return answer;
}

async function restore(
  tx: Tx,
  { audit }: HostDeps,
  request: FastifyRequest<Call>,
  call: RestoreRequested,
): Promise<Answer> {
  const { tenantId } = request.params;
  const person = findPerson(call.requestedBy.id);
  if (!person || !mayConfigure(person, tenantId)) return refused('You may not change this here.');
  // Any key that may record can send a false state.
  if (call.recordedBy.id !== audit().keyId) return refused('This state was not recorded by us.');
  const type = findType(call.resource.type);
  try {
    const current = await lockResource(tx, tenantId, call.resource.id);
    const wanted = call.fields ? { ...current?.state, ...call.fields } : call[call.to];
    if (!type || !wanted) return refused('This is nothing that can be put back.');
    const state = judged(type, wanted);
    if (current && current.type !== type.name) return refused('This is of another type by now.');
    const { id, name } = call.resource;
    const next = { tenantId, id, type: type.name, name: name ?? id, state, deleted: false };
    await writeResource(tx, next);
    const reason = `Put back as in ${call.eventId}`;
    const event = request.audit.event({ ...changeEvent(current, next), tenantId, reason });
    const { email, role } = call.requestedBy;
    await inTransaction(tx, {
      ...event,
      // No user is signed in here, and the address is that of the service.
      actor: { id: person.id, email, role, ip: null, userAgent: null },
    });
    return { status: 'applied' };
  } catch (error) {
    if (error instanceof InputError) return refused(error.message);
    throw error;
  }
}

const refused = (reason: string): Answer => ({ status: 'refused', reason });
