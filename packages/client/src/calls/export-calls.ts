import { notTheService } from '../http/errors.ts';
import type { SentHeaders, Transport } from '../http/transport.ts';
import type { Download } from './download.ts';
import type { EventCriteria } from './event-query.ts';
import { everyItem, post, read } from './paging.ts';

/** Which rows and which columns; of an NDJSON export every event is whole. */
export interface ExportInput {
  filters?: EventCriteria;
  format: 'csv' | 'ndjson';
  /** Of CSV; without it the standard columns. */
  columns?: readonly string[];
}

export type ExportStatus = 'queued' | 'running' | 'ready' | 'failed' | 'expired' | 'cancelled';

/** A file in the making, or made; kept for seven days. */
export interface ExportJob {
  /** `exp_…` */
  id: string;
  status: ExportStatus;
  rowsDone: number;
  /** Null until it is known. */
  rowsTotal: number | null;
  bytes: number | null;
  /** Of the whole file, in hexadecimal. */
  sha256: string | null;
  createdAt: string;
  expiresAt: string | null;
  filters: EventCriteria;
  format: 'csv' | 'ndjson';
  /** Why it failed, in words for people. */
  error?: string | null;
}

/** Files of a tenant's events, made by the service in the background. */
export interface ExportCalls {
  /** Queues a file; never repeated on its own, because each call is an export of its own. */
  create(input: ExportInput): Promise<ExportJob>;
  get(id: string): Promise<ExportJob>;
  /** Newest first. */
  list(): AsyncGenerator<ExportJob, void, undefined>;
  cancel(id: string): Promise<void>;
  /** The file, from a byte on, as it arrives. Throws `gone` when it is no longer kept. */
  download(id: string, fromByte?: number): AsyncGenerator<Uint8Array, void, undefined>;
}

const path = '/api/audit-logs/exports';

export function exportCalls(send: Transport, open: Download, headers: SentHeaders): ExportCalls {
  const of = (id: string) => `${path}/${encodeURIComponent(id)}`;
  return {
    create: (input) => {
      const wanted = { ...headers, prefer: 'respond-async' };
      return post(send, path, { filters: {}, ...input }, wanted);
    },
    get: (id) => read(send, of(id), [], headers),
    list: () => everyItem<ExportJob>(send, path, [], headers),
    cancel: async (id) =>
      void (await send({ method: 'DELETE', path: of(id), headers, idempotent: true })),
    download: (id, fromByte = 0) => {
      const range = { range: fromByte === 0 ? undefined : `bytes=${fromByte}-` };
      return chunksOf(() => open(`${of(id)}/download`, headers, range), fromByte);
    },
  };
}

/**
 * Opened when the first chunk is asked for: a failure before that would have nobody to be told to.
 */
async function* chunksOf(opened: () => Promise<Response>, fromByte: number) {
  const { body, status } = await opened();
  // The service continues every download: whatever begins anew is something in between.
  if (fromByte > 0 && status !== 206) {
    throw notTheService(status);
  }
  if (body !== null) yield* body as unknown as AsyncIterable<Uint8Array>;
}
