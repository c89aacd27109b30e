import type { FastifyInstance } from 'fastify';
import type { HostDeps } from '../app.ts';
import { html } from '../html.ts';
import { sendPage } from '../page.ts';
import { InputError } from '../resource-types.ts';
import { listReceived } from '../store.ts';
import type { Visit } from '../visit.ts';

/** The service's panel in a frame, opened by a link that works once. */
export function auditScreen(app: FastifyInstance, { audit }: HostDeps): void {
  app.get('/audit', async ({ visit }, reply) => {
    requireAdministrator(visit);
    if (!visit?.tenant) throw new InputError('Choose an account first.');
    // Whoever looks just after a change shall see it.
    await audit().delivered();
    const { id, email, role } = visit.person;
    const { url } = await audit().client.viewerLinks.create({
      tenantId: visit.tenant.id,
      actor: { id, email, role: role === 'superadmin' ? 'superadmin' : 'admin' },
      reason: visit.reason,
      ttlSeconds: 60,
    });
    const frame = html`<iframe title="Audit log" src="${url}" allow="clipboard-write"></iframe>`;
    return sendPage(reply, visit, 'Audit log', frame);
  });
}

/** What the service has sent to this product: the newest events, as their webhook brought them. */
export function activityScreen(app: FastifyInstance, { pool }: HostDeps): void {
  app.get('/activity', async ({ visit }, reply) => {
    requireAdministrator(visit);
    const events = await listReceived(pool, visit?.tenant?.id ?? '');
    const items = events.map(
      ({ timestamp, action, actor, resource }) => html`<tr><td>${timestamp}</td>
  <td>${actor.email ?? actor.role}</td><td>${action}</td>
  <td>${resource.type} ${resource.name}</td></tr>`,
    );
    const table = html`<p>Told by the audit log service, signature checked, within a second or two.</p>
<table><tr><th>When<th>Who<th>Did<th>To</tr>
${items}</table>`;
    return sendPage(reply, visit, 'Activity', table);
  });
}

function requireAdministrator(visit: Visit | null): void {
  if (visit?.person.role !== 'supervisor') return;
  throw new InputError('The audit log is for administrators.');
}
