import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { inTransaction } from '../audit.ts';
import { transaction } from '../database.ts';
import type { HostDeps } from '../host-deps.ts';
import { html } from '../html.ts';
import { sendPage } from '../page.ts';
import { findPerson, findTenant, people, tenants } from '../people.ts';
import { InputError } from '../resource-types.ts';
import { forgetVisit, keepVisit, type Visit } from '../visit.ts';

type Form = Record<string, string | undefined>;

/** Signing in and out, and the operator team's way into an account. */
export function accountScreens(app: FastifyInstance, deps: HostDeps): void {
  app.get('/', async (_, reply) => reply.redirect('/configure/queue', 303));
  app.get('/sign-in', async (_, reply) => sendPage(reply, null, 'Who are you?', signIn));
  app.post<{ Body: Form }>('/sign-in', async (request, reply) => {
    const person = findPerson(request.body.person);
    if (!person) throw new InputError('Choose one of the people shown.');
    const tenant = findTenant(person.tenantId ?? undefined);
    const visit: Visit = { person, sessionId: randomUUID(), tenant, reason: null };
    request.visit = visit;
    const resource = { type: 'session', id: visit.sessionId, name: person.email };
    // An operator has not chosen an account yet, so no log can record this.
    if (tenant) await request.audit.login(person, { resource });
    keepVisit(reply, visit);
    return reply.redirect(tenant ? '/' : '/operator', 303);
  });
  app.post('/sign-out', async (request, reply) => {
    const { visit, audit } = request;
    if (visit?.tenant) {
      await audit.record({
        action: 'logout',
        resource: { type: 'session', id: visit.sessionId, name: visit.person.email },
      });
    }
    forgetVisit(reply);
    return reply.redirect('/sign-in', 303);
  });
  operatorScreens(app, deps);
}

const signIn = html`<p>This example has no passwords.</p>
<div class="people">${people.map(
  ({ id, name, email, role }) => html`<form method="post" action="/sign-in">
  <button name="person" value="${id}">${name}</button> <span>${email}, ${role}</span></form>`,
)}</div>`;

function operatorScreens(app: FastifyInstance, { pool }: HostDeps): void {
  app.get('/operator', async ({ visit }, reply) => {
    if (visit?.person.role !== 'superadmin') throw new InputError('This is for operators.');
    return sendPage(reply, visit, 'Accounts', operatorForm);
  });
  app.post<{ Body: Form }>('/operator', async (request, reply) => {
    const { visit, body } = request;
    if (visit?.person.role !== 'superadmin') throw new InputError('This is for operators.');
    const tenant = findTenant(body.tenant);
    if (!tenant) throw new InputError('Choose an account.');
    const reason = judgedReason(body.reason);
    request.visit = { ...visit, tenant, reason };
    // Before access is granted: an operator must be visible in the log.
    const entered = request.audit.event({
      action: 'access',
      resource: { type: 'tenant', id: tenant.id, name: tenant.name },
    });
    await transaction(pool, (tx) => inTransaction(tx, entered));
    keepVisit(reply, request.visit);
    return reply.redirect('/', 303);
  });
}

/** A reason that people can read, and that the audit log takes. Throws InputError. */
function judgedReason(text = ''): string {
  const reason = text.trim();
  // Invisible characters are not a reason either.
  if (!/[\p{L}\p{N}]/u.test(reason)) throw new InputError('Say why: the account sees the reason.');
  if (reason.length <= 1_000 && !/\p{Cc}/u.test(reason)) return reason;
  throw new InputError('Say why in one line of at most 1,000 characters.');
}

const operatorForm = html`<div class="card"><form method="post" action="/operator">
<label>Account <select name="tenant">
${tenants.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
</select></label>
<label>Why do you look into it? <input name="reason" size="50" maxlength="1000" autocomplete="off"></label>
<button>Enter</button>
</form></div>
<p>The account sees the reason, and everything you do there.</p>`;
