import type { CsvColumn } from '@indelible/protocol';
import { notTheService } from '../http/errors.ts';
import type { SentHeaders } from '../http/transport.ts';
import type { createDownload } from './download.ts';
import type { EventCriteria } from './event-query.ts';
import type { JsonCalls } from './json-calls.ts';

/** Rows and columns of an export; NDJSON always has complete events. */
export interface ExportInput {
  /** Default: all events. */
  filters?: EventCriteria;
  format: 'csv' | 'ndjson';
  /** The columns of a CSV file; default: the standard ones. */
  columns?: readonly CsvColumn[];
}

export type ExportStatus = 'queued' | 'running' | 'ready' | 'failed' | 'expired' | 'cancelled';

/** An export; its file is kept for seven days. */
export interface ExportJob {
  /** `exp_…` */
  id: string;
  status: ExportStatus;
  rowsDone: number;
  /** Null until it is known. */
  rowsTotal: number | null;
  bytes: number | null;
  /** The SHA-256 of the whole file, in hexadecimal. */
  sha256: string | null;
  createdAt: string;
  expiresAt: string | null;
  filters: EventCriteria;
  format: 'csv' | 'ndjson';
  /** Why it failed, for people. */
  error?: string | null;
}

/** Files of a tenant's events, made by the service in the background. */
export interface ExportCalls {
  /** Queues an export. Never repeated automatically: each call makes another one. */
  create(input: ExportInput): Promise<ExportJob>;
  get(id: string): Promise<ExportJob>;
  /** Newest first. */
  list(): AsyncGenerator<ExportJob, void, undefined>;
  cancel(id: string): Promise<void>;
  /** The file from a byte on, as a stream. Throws `gone` if it has been deleted. */
  download(id: string, fromByte?: number): AsyncGenerator<Uint8Array, void, undefined>;
}

const path = '/api/audit-logs/exports';

export function exportCalls(
  { get, every, post, remove }: JsonCalls,
  open: ReturnType<typeof createDownload>,
  headers: SentHeaders,
): ExportCalls {
  const of = (id: string) => `${path}/${encodeURIComponent(id)}`;
  return {
    create: (input) => {
      const inBackground = { headers: { ...headers, prefer: 'respond-async' } };
      return post(path, input, inBackground);
    },
    get: (id) => get(of(id)),
    list: () => every(path),
    cancel: (id) => remove(of(id)),
    download: (id, fromByte = 0) => {
      const range = { range: fromByte === 0 ? undefined : `bytes=${fromByte}-` };
      return chunksOf(() => open(`${of(id)}/download`, headers, range), fromByte);
    },
  };
}

/** Opens the download with the first chunk: a failure before that could not be reported. */
async function* chunksOf(opened: () => Promise<Response>, fromByte: number) {
  const { body, status } = await opened();
  // The service supports ranges, so a proxy answered if the file starts at byte 0 again.
  if (fromByte > 0 && status !== 206) {
    throw notTheService(status);
  }
  if (body !== null) yield* body as unknown as AsyncIterable<Uint8Array>;
}
