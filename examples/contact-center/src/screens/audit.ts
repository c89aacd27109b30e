import { IndelibleError, UnreachableError } from '@indelible/client';
import type { FastifyInstance } from 'fastify';
import type { HostDeps } from '../host-deps.ts';
import { html } from '../html.ts';
import { sendPage, wide } from '../page.ts';
import { InputError } from '../resource-types.ts';
import { listReceived } from '../store.ts';
import type { Visit } from '../visit.ts';

/** The service's panel in a frame, opened by a link that works once. */
export function auditScreen(app: FastifyInstance, { audit }: HostDeps): void {
  app.get('/audit', async ({ visit }, reply) => {
    requireAdministrator(visit);
    if (!visit?.tenant) throw new InputError('Choose an account first.');
    // A reader must see a change that was just made.
    await audit().delivered();
    const { id, email, role } = visit.person;
    const link = audit().client.viewerLinks.create({
      tenantId: visit.tenant.id,
      actor: { id, email, role: role === 'superadmin' ? 'superadmin' : 'admin' },
      reason: visit.reason,
      ttlSeconds: 60,
    });
    const url = await link.then((made) => made.url).catch(nullIfAway);
    if (url === null) return sendPage(reply, visit, 'Audit log', away, 503);
    const frame = html`<iframe title="Audit log" src="${url}" allow="clipboard-write"></iframe>`;
    return sendPage(reply, visit, 'Audit log', frame);
  });
}

/** Null for a service that is away or busy: it passes, and loses nothing. */
function nullIfAway(error: unknown): null {
  const isBusy = error instanceof IndelibleError && [429, 503].includes(error.status);
  if (isBusy || error instanceof UnreachableError) return null;
  throw error;
}

const away = html`<p class="problem" role="alert">The audit log cannot be reached at the moment.</p>
<p>Try again in a minute. What is done meanwhile is recorded all the same.</p>`;

/** What the service has sent to this product: the newest events, as their webhook brought them. */
export function activityScreen(app: FastifyInstance, { pool }: HostDeps): void {
  app.get('/activity', async ({ visit }, reply) => {
    requireAdministrator(visit);
    const events = await listReceived(pool, visit?.tenant?.id ?? '');
    const items = events.map(
      ({ timestamp, action, actor, resource }) => html`<tr><td>${shownTime(timestamp)}</td>
  <td>${actor.email ?? actor.role}</td><td>${action}</td>
  <td>${resource.type} ${resource.name}</td></tr>`,
    );
    const table = html`<p>Told by the audit log service, signature checked, within a second or two.</p>
${wide(
  'Activity',
  html`<table><tr><th>When (UTC)<th>Who<th>Did<th>To</tr>
${items}</table>`,
)}`;
    return sendPage(reply, visit, 'Activity', table);
  });
}

const shownTime = (timestamp: string) => timestamp.slice(0, 19).replace('T', ' ');

function requireAdministrator(visit: Visit | null): void {
  if (visit?.person.role !== 'supervisor') return;
  throw new InputError('The audit log is for administrators.');
}
