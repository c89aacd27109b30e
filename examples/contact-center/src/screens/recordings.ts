import type { FastifyInstance } from 'fastify';
import { inTransaction } from '../audit.ts';
import { transaction } from '../database.ts';
import type { HostDeps } from '../host-deps.ts';
import { html } from '../html.ts';
import { sendPage, wide } from '../page.ts';
import { InputError } from '../resource-types.ts';
import { findRecording, listRecordings } from '../store.ts';

/** Recordings of calls. Seeing the list is a page view and not recorded; listening is. */
export function recordingScreens(app: FastifyInstance, { pool }: HostDeps): void {
  app.get('/recordings', async ({ visit }, reply) => {
    const recordings = await listRecordings(pool, visit?.tenant?.id ?? '');
    const rows = recordings.map(
      ({ id, agent, caller, startedAt, seconds }) => html`<tr>
  <td>${startedAt.toISOString().slice(0, 16).replace('T', ' ')}</td>
  <td>${agent}</td><td>${caller}</td><td>${seconds} s</td>
  <td><form method="post" action="/recordings/${id}"><button>Listen</button></form></td></tr>`,
    );
    const table = html`<table>
<tr><th>Began (UTC)<th>Agent<th>Caller<th>Length<th></tr>
${rows}</table>`;
    return sendPage(reply, visit, 'Recordings', wide('Recordings', table));
  });
  app.post<{ Params: { id: string } }>('/recordings/:id', async (request, reply) => {
    const { visit, params } = request;
    const recording = await transaction(pool, async (tx) => {
      const found = await findRecording(tx, visit?.tenant?.id ?? '', params.id);
      if (!found) throw new InputError('There is no such recording.');
      const name = `${found.agent}, ${found.caller}`;
      const resource = { type: 'recording', id: found.id, name };
      // Committed before the first sound is heard.
      await inTransaction(tx, request.audit.event({ action: 'play', resource }));
      return found;
    });
    const body = html`<p>Here ${recording.agent} would be heard with ${recording.caller}.</p>
<p><a href="/recordings">Back to the recordings</a></p>`;
    return sendPage(reply, visit, 'Listening', body);
  });
}
