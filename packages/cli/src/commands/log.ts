import { counted, withCommas } from '@indelible/protocol';
import type { ReopenedLog } from '@indelible/server';
import type { Command } from 'commander';
import { answer, type Io, UsageError } from '../io.ts';
import { onServer } from '../server.ts';
import { hexId } from '../text.ts';

const help = `
After a database was restored from an older backup, published checkpoints cover more
entries than its logs contain, and the service stops recording. If the newer database is
lost, run this command: every log of the installation continues with its remaining entries
under a new name (origin), also a log that lost nothing. Its first new record is the last
published checkpoint, so that its tenant sees what was lost. Stop every process of the
service first. This cannot be undone.

With --new-store the logs begin anew in an empty object store, because the former one is
lost.`;

/** `indelible log reopen`: recording continues after a rewound database. */
export function logCommand(program: Command, io: Io): void {
  const log = program.command('log').description("the tenants' verifiable logs");
  log
    .command('reopen')
    .description(
      'continue after the database was restored from an older backup, under a new origin',
    )
    .option('--yes', 'do it')
    .option('--new-store', 'the object store is lost: begin the logs anew in an empty one')
    .addHelpText('after', help)
    .action(async ({ yes = false, newStore = false, json = false }: ReopenOptions) => {
      if (!yes) {
        throw new UsageError(
          'this renames every log permanently, and each verifier will report it; run it with --yes',
        );
      }
      const reopened = await onServer(io, ({ reopenLog }) => reopenLog(io.env, { newStore }));
      await answer(io, json, { reopened }, reopenedText(reopened));
    });
}

interface ReopenOptions {
  yes?: boolean;
  newStore?: boolean;
  json?: boolean;
}

function reopenedText(reopened: readonly ReopenedLog[]): string {
  if (reopened.length === 0) return 'there is no log to reopen\n';
  return reopened.map(reopenedLine).join('');
}

function reopenedLine({
  tenantId,
  previousLogId,
  logId,
  size,
  publishedSize,
}: ReopenedLog): string {
  const published = withCommas(publishedSize);
  if (tenantId === null || logId === null) {
    return (
      `log ${hexId(previousLogId)}: nothing is left of ${published} published entries, ` +
      'and its tenant is lost\n'
    );
  }
  // In a new store more may be left than was published.
  return (
    `tenant ${tenantId}: ${counted(size, 'entry', 'entries')} left, ${published} published; ` +
    `log ${hexId(previousLogId)} continues as ${hexId(logId)}\n`
  );
}
