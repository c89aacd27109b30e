import type { Command } from 'commander';
import { wholeArgument } from '../arguments.ts';
import { FindingError, type Io } from '../io.ts';
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
    .action(async ({ shards }: { shards: number }) => {
      const say = (line: string) => io.stdout.write(`${line}\n`);
      const { logs, damage } = await onServer(io, ({ distributeDatabase }) =>
        distributeDatabase(io.env, shards, say),
      );
      if (damage.length > 0) throw new FindingError(damage.join('\n'));
      say(`${logs} ${logs === 1 ? 'log' : 'logs'} checked: all entries are stored`);
    });
}
