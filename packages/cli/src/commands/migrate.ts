import type { Command } from 'commander';
import type { Environment } from '../connection.ts';
import { FindingError, UsageError } from '../exit-codes.ts';
import { jsonLine } from '../text.ts';

/** `indelible migrate`: roles and schema, as the owner of the database. */
export function migrateCommand(program: Command, env: Environment): void {
  program
    .command('migrate')
    .description('bring roles and schema of the database up to date (DATABASE_OWNER_URL)')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const applied = await migrate(env);
      const text = applied.length === 0 ? 'the database is up to date\n' : appliedText(applied);
      process.stdout.write(options.json ? jsonLine({ applied }) : text);
    });
}

async function migrate(env: Environment): Promise<string[]> {
  const { migrateDatabase, readConfig } = await import('@indelible/server');
  try {
    readConfig(env);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  return migrateDatabase(env).catch((error: unknown) => {
    throw new FindingError(error instanceof Error ? reasons(error) : String(error));
  });
}

/** A migration that fails says which one it was; its cause says why. */
function reasons(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function appliedText(applied: readonly string[]): string {
  return applied.map((name) => `applied ${name}\n`).join('');
}
