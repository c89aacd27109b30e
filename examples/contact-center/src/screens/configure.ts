import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inTransaction } from '../audit.ts';
import { changeEvent } from '../change-event.ts';
import { transaction } from '../database.ts';
import type { HostDeps } from '../host-deps.ts';
import { type Html, html } from '../html.ts';
import { sendPage } from '../page.ts';
import { mayConfigure } from '../people.ts';
import { findType, InputError, type ResourceType, stateOfForm } from '../resource-types.ts';
import { listResources, lockResource, type Resource, writeResource } from '../store.ts';

interface Call {
  Params: { type: string; id?: string };
  Body: Record<string, string | undefined>;
}

/** Queues, IVRs, recording policies and roles: lists with a form each. Every change is recorded. */
export function configureScreens(app: FastifyInstance, { pool }: HostDeps): void {
  app.get<Call>('/configure/:type', async (request, reply) => {
    const type = typeOf(request);
    const resources = await listResources(pool, tenantOf(request), type.name);
    return sendPage(reply, request.visit, type.plural, listing(type, resources));
  });
  app.post<Call>('/configure/:type', async (request, reply) => {
    const name = request.body.name?.trim() ?? '';
    if (name === '' || name.length > 200) throw new InputError('Give it a name.');
    await change(request, (resource) => ({ ...resource, name }));
    return reply.redirect(`/configure/${request.params.type}`, 303);
  });
  app.post<Call>('/configure/:type/:id', async (request, reply) => {
    await change(request, (resource) => resource);
    return reply.redirect(`/configure/${request.params.type}`, 303);
  });
  app.post<Call>('/configure/:type/:id/delete', async (request, reply) => {
    await change(request, (resource) => ({ ...resource, deleted: true }));
    return reply.redirect(`/configure/${request.params.type}`, 303);
  });

  /** The change and its audit event in one transaction: there is no change without its event. */
  async function change(
    request: FastifyRequest<Call>,
    edit: (resource: Resource) => Resource,
  ): Promise<void> {
    const type = typeOf(request);
    const tenantId = tenantOf(request);
    if (!request.visit || !mayConfigure(request.visit.person, tenantId)) {
      throw new InputError('You may look at this, but not change it.');
    }
    const { id } = request.params;
    await transaction(pool, async (tx) => {
      const current = id === undefined ? null : await lockResource(tx, tenantId, id);
      const isThere = current?.type === type.name && !current.deleted;
      if (id !== undefined && !isThere) throw new InputError('It is gone.');
      const edited = edit(current ?? newResource(tenantId, type));
      const next = edited.deleted ? edited : { ...edited, state: stateOfForm(type, request.body) };
      await writeResource(tx, next);
      await inTransaction(tx, request.audit.event(changeEvent(current, next)));
    });
  }
}

const newResource = (tenantId: string, { name: type }: ResourceType): Resource => {
  return { tenantId, id: randomUUID(), type, name: '', state: {}, deleted: false };
};

function typeOf({ params }: FastifyRequest<Call>): ResourceType {
  const type = findType(params.type);
  if (!type) throw new InputError('There is no such page.');
  return type;
}

function tenantOf({ visit }: FastifyRequest<Call>): string {
  if (!visit?.tenant) throw new InputError('Choose an account first.');
  return visit.tenant.id;
}

function listing(type: ResourceType, resources: readonly Resource[]): Html {
  return html`
${resources.map(
  (resource) => html`<section class="card" aria-label="${resource.name}">
  <h2>${resource.name}</h2>
  <form class="fields" method="post" action="/configure/${type.name}/${resource.id}">
    ${fields(type, resource)} <button>Save</button>
  </form>
  <form method="post" action="/configure/${type.name}/${resource.id}/delete">
    <button>Delete</button>
  </form>
</section>`,
)}
<section class="card" aria-label="New">
  <h2>New</h2>
  <form class="fields" method="post" action="/configure/${type.name}">
    <label>Name <input name="name" required maxlength="200"></label>
    ${fields(type, null)} <button>Create</button>
  </form>
</section>`;
}

function fields({ fields: all }: ResourceType, resource: Resource | null): Html[] {
  return all.map(({ name, label, kind, choices = ['yes', 'no'], least, most }) => {
    const value = resource?.state[name];
    if (kind === 'choice' || kind === 'yes/no') {
      const chosen = kind === 'yes/no' ? (value === true ? 'yes' : 'no') : value;
      return html`<label>${label} <select name="${name}">${choices.map(
        (each) => html`<option ${each === chosen && html`selected`}>${each}</option>`,
      )}</select></label>`;
    }
    if (kind === 'lines') {
      const lines = Array.isArray(value) ? value.join('\n') : '';
      return html`<label>${label} <textarea name="${name}" rows="3">${lines}</textarea></label>`;
    }
    if (kind === 'text') {
      return html`<label>${label} <input name="${name}" value="${String(value ?? '')}"></label>`;
    }
    return html`<label>${label} <input name="${name}" type="number" required min="${least}"
      max="${most}" value="${typeof value === 'number' && value}"></label>`;
  });
}
