import { counted } from '@indelible/protocol';
import type { Command } from 'commander';
import { wholeArgument } from '../arguments.ts';
import { answer, FindingError, type Io } from '../io.ts';
import { onServer } from '../server.ts';

const help = `
Runs as the owner of the database (DATABASE_OWNER_URL), on the coordinator of a Citus cluster, while no
service runs. A table with all its rows is one step; after an interruption, run it again. Run it also
after "indelible migrate" on a cluster. Afterwards the entries of each log are checked.`;

export function distributeCommand(program: Command, io: Io): void {
  program
    .command('distribute')
    .description('shard the database by tenant over the nodes of a Citus cluster')
    .addHelpText('after', help)
    .option(
      '--shards <count>',
      'shards of each table: 2 to 4 for each planned node',
      wholeArgument(1, 1_024),
      32,
    )
    .action(async ({ shards, json }: { shards: number; json?: boolean }) => {
      // Not to standard output, whose reader may go away and so end the work.
      const say = (line: string) => void io.stderr.write(`${line}\n`);
      const { logs, damage } = await onServer(io, ({ distributeDatabase }) =>
        distributeDatabase(io.env, shards, say),
      );
      if (damage.length > 0) throw new FindingError(damage.join('\n'));
      await answer(io, json, { logs }, `${counted(logs, 'log')} checked: all entries are stored\n`);
    });
}
