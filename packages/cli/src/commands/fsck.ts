import type { Command } from 'commander';
import { plansOf } from '../connection.ts';
import { checkInstallation } from '../fsck/check-installation.ts';
import { fsckText, RunFile } from '../fsck/fsck-report.ts';
import { answer, exitCodes, type Io } from '../io.ts';
import { withProgress } from '../progress.ts';
import { onServer } from '../server.ts';

const help = `
Reads everything, and changes nothing: each log with its entries, tiles, tail, head and
events, as "indelible verify" does, and every published round in the object store. Runs as
the owner of the database: DATABASE_OWNER_URL, or the embedded PostgreSQL, also while a
service is using it. Memory grows with the number of tenants, not with what they recorded.

With --resume a run that was interrupted continues behind the last log that it had checked;
the file is removed at the end.

Exit status: 0 nothing is damaged, 1 something is, or it cannot be checked, 2 wrong usage.`;

/** `indelible fsck`: whether everything that the installation stores agrees. */
export function fsckCommand(program: Command, io: Io): void {
  program
    .command('fsck')
    .description('check all logs against all published rounds, tiles, heads and events')
    .option('--resume <file>', 'keep the progress in this file, and continue from it')
    .addHelpText('after', help)
    .action(async ({ resume, json = false }: { resume?: string; json?: boolean }) => {
      const run = new RunFile(resume ?? null);
      const plans = plansOf(io.env);
      const report = await withProgress(io, (progress) =>
        onServer(io, ({ withOwnService }) =>
          withOwnService(io.env, (service) => checkInstallation(service, { run, plans, progress })),
        ),
      );
      run.remove();
      io.exitCode = report.result === 'intact' ? exitCodes.fine : exitCodes.finding;
      await answer(io, json, report, fsckText(report));
    });
}
