import { parentPort, workerData } from 'node:worker_threads';
import { withOwnerSession } from '../postgres/db.ts';
import { findingOf } from '../postgres/embedded/error-code.ts';
import { type DraftedPart, type DraftWanted, draftPart } from './draft-part.ts';

/* The program of the thread that makes the files of large parts; see draft-thread.ts. */

export interface ThreadSettings {
  ownerUrl: string;
}

const { ownerUrl } = workerData as ThreadSettings;

parentPort?.on('message', async (wanted: DraftWanted) => {
  const answer = await withOwnerSession(ownerUrl, ({ transaction }) =>
    draftPart(transaction, wanted),
  ).catch((error: Error) => {
    // Only the message of an error reaches the other thread.
    error.message = findingOf(error) ?? error.message;
    return error;
  });
  parentPort?.postMessage(answer satisfies DraftedPart | Error);
});
