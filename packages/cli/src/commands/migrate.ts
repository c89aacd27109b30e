import type { Command } from 'commander';
import { answer, FindingError, type Io, sentenceOf } from '../io.ts';
import { loadServer } from '../server.ts';

export function migrateCommand(program: Command, io: Io): void {
  program
    .command('migrate')
    .description('bring roles and schema of the database up to date (DATABASE_OWNER_URL)')
    .action(async (options: { json?: boolean }) => {
      const { migrateDatabase } = await loadServer(io.env);
      const log = (message: string) => void io.stderr.write(`${message}\n`);
      const applied = await migrateDatabase(io.env, { log }).catch((error: unknown) => {
        throw new FindingError(reasons(error));
      });
      const text = applied.length === 0 ? 'the database is up to date\n' : appliedText(applied);
      await answer(io, options.json, { applied }, text);
    });
}

/** A failed migration names itself; its cause has the reason. */
function reasons(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? `${sentenceOf(error)}: ${cause.message}` : sentenceOf(error);
}

function appliedText(applied: readonly string[]): string {
  return applied.map((name) => `applied ${name}\n`).join('');
}
