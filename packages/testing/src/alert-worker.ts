import { createCatalogue } from '@indelible/protocol';
import { createAlertWorker } from '../../server/src/alerts/evaluate.job.ts';
import { record } from '../../server/src/postgres/db.ts';
import { makePartitions } from '../../server/src/postgres/partitions.store.ts';
import { openOwnEvents, recordOwnWith } from '../../server/src/record/own-events.store.ts';
import { createPartitionKeeper } from '../../server/src/record/partitions.ts';
import type { TestService } from './service.ts';
import type { Steps } from './steps.ts';

/** Another process that evaluates rules, and is killed at a step; `failed` gets what ended it. */
export async function alertProcess(
  { db, app, clock }: TestService,
  steps: Steps,
  failed: (error: unknown) => void,
) {
  const now = () => clock.now;
  const own = await openOwnEvents(db.writer, createCatalogue(), now);
  const partitions = createPartitionKeeper((wanted) =>
    record(db, (tx) => makePartitions(tx, [wanted])),
  );
  return createAlertWorker({
    now,
    jobs: app.jobs,
    recordOwn: recordOwnWith({ ...own, partitions }),
    db: { ...db, background: steps.pool(db.background) },
    ended: (_work, _ok, error) => {
      if (error !== undefined) failed(error);
    },
  });
}
