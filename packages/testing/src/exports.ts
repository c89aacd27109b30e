import { uuidFromTypeId } from '@indelible/protocol';
import { getExport } from '../../server/src/exports/store.ts';
import { readTenant } from '../../server/src/postgres/db.ts';
import type { Answer, TestService } from './service.ts';

/* Shared by tests of exports. */

export const exportsUrl = '/api/audit-logs/exports';

export interface ShownExport {
  id: string;
  status: string;
  rowsDone: number;
  rowsTotal: number | null;
  bytes: number | null;
  sha256: string | null;
  error: string | null;
  retryReason: string | null;
  expiresAt: string | null;
  notified: string[];
  notice: string | null;
}

/** Requests an export as a job. */
export async function askForJob(
  service: Pick<TestService, 'call'>,
  key: string,
  body: object = {},
): Promise<ShownExport> {
  const answer = await service.call({
    method: 'POST',
    url: exportsUrl,
    key,
    headers: { prefer: 'respond-async' },
    body: { filters: {}, format: 'csv', ...body },
  });
  if (answer.status !== 202) throw new Error(`no job: ${answer.text}`);
  return answer.body;
}

/** The row of an export. */
export async function exportRow({ db }: TestService, tenantId: string, { id }: { id: string }) {
  const uuid = uuidFromTypeId('exp_', id) ?? '';
  const row = await readTenant(db, tenantId, (tx) => getExport(tx, uuid));
  if (row) return row;
  throw new Error('there is no such export');
}

/** Polls until the export has the wanted state; throws after a time limit. */
export async function exportUntil(
  service: Pick<TestService, 'call'>,
  key: string,
  id: string,
  wanted: (job: ShownExport) => boolean,
): Promise<ShownExport> {
  for (const end = Date.now() + 50_000; ; await pause()) {
    const { body } = await service.call({ url: `${exportsUrl}/${id}`, key });
    if (wanted(body)) return body;
    if (Date.now() > end)
      throw new Error(`the export did not come so far: ${JSON.stringify(body)}`);
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

export const hasEnded = ({ status }: ShownExport) => !['queued', 'running'].includes(status);

/** Follows the download to its file. */
export async function download(
  service: Pick<TestService, 'call'>,
  key: string,
  id: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { headers: answered, status } = await service.call({
    url: `${exportsUrl}/${id}/download`,
    key,
  });
  if (status !== 302) throw new Error(`no download: ${status}`);
  const { pathname, search } = new URL(String(answered.location));
  return service.call({ url: `${pathname}${search}`, key: null, headers });
}

/** Ends the pause before a job's next attempt, which may be made its last. */
export async function retryNow(
  { owner, app }: Pick<TestService, 'owner' | 'app'>,
  exportId: string,
  { isLast = false } = {},
): Promise<void> {
  const job = uuidFromTypeId('exp_', exportId);
  // A failed attempt is stored a moment after the export shows it.
  for (;;) {
    const { rowCount } = await owner.query(
      `UPDATE jobs SET due_at = 'epoch' ${isLast ? ', attempts = 6' : ''}
        WHERE id = $1 AND queue = 'export' AND lease IS NULL AND attempts > 0`,
      [job],
    );
    if (rowCount === 1) return app.jobs.wake();
  }
}
