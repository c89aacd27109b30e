/*
 * A host as a separate process: reads commands for its recorder from standard input, one JSON line
 * each, and reports on standard output. It ends itself on command, or the test ends it.
 */
import { createInterface } from 'node:readline';
import { createClient } from '../../index.ts';
import { changeEvent } from '../../outbox/testing/change-event.ts';
import { createRecorder } from '../index.ts';

export interface Told {
  /**
   * Records the queue's changes with these numbers; with `kill`, ends by SIGKILL in the same call.
   */
  record?: { from: number; to: number; kill?: boolean };
  flush?: true;
  end?: 'by itself' | 'process.exit';
}

const { URL = '', KEY = '', TENANT = '', QUEUE = '', OPTIONS = '{}' } = process.env;
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

const client = createClient({ url: URL, key: KEY, attempts: 1 });
const recorder = createRecorder({
  client,
  onLost: (event, why) => say({ lost: event.diff?.changes?.to, why }),
  onWarning: ({ message }) => say({ warning: message }),
  ...JSON.parse(OPTIONS),
});

createInterface({ input: process.stdin }).on('line', (line) => void obey(JSON.parse(line)));
say({ ready: true });

async function obey({ record, flush, end }: Told): Promise<void> {
  if (record !== undefined) {
    for (let change = record.from; change <= record.to; change += 1) {
      recorder.record(changeEvent(TENANT, QUEUE, change));
    }
    if (record.kill) process.kill(process.pid, 'SIGKILL');
    say({ recorded: record.to, ...recorder.stats() });
  }
  if (flush) say({ flushed: await recorder.flush() });
  if (end === 'process.exit') process.exit();
  if (end === 'by itself') process.stdin.destroy();
}
