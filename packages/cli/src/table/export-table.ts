import { setTimeout as delay } from 'node:timers/promises';
import type { ExportJob, IndelibleClient } from '@indelible/client';
import { nullWhenMissing } from '../connection.ts';
import { FindingError } from '../io.ts';
import type { Progress } from '../verify/log-source.ts';
import { PartFile, type TableTerms } from './part-file.ts';

const pollMs = 500;

/**
 * Lets the service make a file, and downloads it completely or not at all. After an interruption it
 * continues: with the same export, and at the next byte of the download. Throws FindingError if the
 * export failed, or the file differs from the service's digest.
 */
export async function exportTable(
  client: IndelibleClient,
  target: string,
  terms: TableTerms,
  progress: Progress,
): Promise<ExportJob> {
  const file = new PartFile(target, terms);
  try {
    const job = await finishedJob(client, await jobFor(client, file, terms), progress);
    if (job.status !== 'ready') throw notMade(job, file);
    await fetchFile(client, job, file, progress);
    file.finish();
    return job;
  } catch (error) {
    throw file.problemOf(error);
  } finally {
    file.close();
  }
}

/** The export that was begun for this file, if still usable; else a new one. */
async function jobFor(
  client: IndelibleClient,
  file: PartFile,
  terms: TableTerms,
): Promise<ExportJob> {
  if (file.exportId !== null) {
    const begun = await client.exports.get(file.exportId).catch(nullWhenMissing);
    if (begun && ['queued', 'running', 'ready'].includes(begun.status)) return begun;
    file.discard();
  }
  const { format, filters, columns } = terms;
  const job = await client.exports.create({ format, filters, ...(columns && { columns }) });
  file.begin(job.id);
  return job;
}

/** Waits until the service has finished it. */
async function finishedJob(
  client: IndelibleClient,
  begun: ExportJob,
  progress: Progress,
): Promise<ExportJob> {
  let job = begun;
  let [total, shown] = [null as number | null, 0];
  progress.stage('rows', null);
  while (job.status === 'queued' || job.status === 'running') {
    await delay(pollMs);
    job = await client.exports.get(job.id);
    if (job.rowsTotal !== total) {
      total = job.rowsTotal;
      shown = 0;
      progress.stage('rows', total);
    }
    progress.advance(job.rowsDone - shown);
    shown = job.rowsDone;
  }
  return job;
}

function notMade(job: ExportJob, file: PartFile): FindingError {
  file.discard();
  const why = job.status === 'failed' ? (job.error ?? 'it failed') : `it is ${job.status}`;
  return new FindingError(`the export ${job.id} has no file: ${why}`);
}

/** Downloads the missing bytes; with a wrong digest, downloads the file once more. */
async function fetchFile(
  client: IndelibleClient,
  job: ExportJob,
  file: PartFile,
  progress: Progress,
): Promise<void> {
  for (const isLast of [false, true]) {
    const have = file.bytes;
    progress.stage('bytes', job.bytes);
    progress.advance(have);
    if (job.bytes === null || have < job.bytes) {
      for await (const chunk of client.exports.download(job.id, have)) {
        file.append(chunk);
        progress.advance(chunk.length);
      }
    }
    file.close();
    if (file.digest() === job.sha256) return;
    if (isLast || have === 0) break;
    file.empty();
  }
  file.empty();
  throw new FindingError(
    'the downloaded file differs from the one that the service made; try again',
  );
}
