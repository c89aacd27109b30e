import type { Command } from 'commander';
import { answer, type Io } from '../io.ts';
import { onServer } from '../server.ts';

/** `indelible backup` and `restore-backup`: the embedded database, with what belongs to it. */
export function backupCommand(program: Command, io: Io): void {
  program
    .command('backup')
    .description('copy the embedded database, its secrets and objects into a new folder')
    .argument('<folder>', 'of the backup; must not exist')
    .action(async (folder: string, { json = false }: { json?: boolean }) => {
      const { madeAt } = await onServer(io, ({ backUp }) => backUp(io.env, folder));
      await answer(io, json, { folder, madeAt }, `the backup is in ${folder}\n`);
    });
  program
    .command('restore-backup')
    .description('put a backup into a DATA_DIR that has no database')
    .argument('<folder>', 'of the backup')
    .action(async (folder: string, { json = false }: { json?: boolean }) => {
      const { madeAt, dataDir, objects } = await onServer(io, ({ restoreBackup }) =>
        restoreBackup(io.env, folder),
      );
      const kept = objects ? 'database, secrets and objects' : 'database and secrets';
      const text =
        `${dataDir} has ${kept} of the backup of ${madeAt}; ` +
        'what was recorded later is not in it. Start the service with `indelible serve`\n';
      await answer(io, json, { dataDir, madeAt, objects }, text);
    });
}
