#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { IndelibleError, UnreachableError } from '@indelible/client';
import { Command, CommanderError } from 'commander';
import { archiveCommand } from './commands/archive.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eraseCommand } from './commands/erase.ts';
import { exportCommand } from './commands/export.ts';
import { importCommand } from './commands/import.ts';
import { keyCommand } from './commands/key.ts';
import { keygenCommand } from './commands/keygen.ts';
import { logCommand } from './commands/log.ts';
import { migrateCommand } from './commands/migrate.ts';
import { retentionCommand } from './commands/retention.ts';
import { serveCommand } from './commands/serve.ts';
import { tailCommand } from './commands/tail.ts';
import { tenantCommand } from './commands/tenant.ts';
import { verifyCommand } from './commands/verify.ts';
import { exitCodeOf, exitCodes, FindingError, UsageError } from './exit-codes.ts';
import { endSoon } from './output.ts';
import { visible } from './text.ts';

/** The command line: reads arguments, runs one command, ends with its status. */
async function main(): Promise<void> {
  try {
    await buildProgram().parseAsync();
  } catch (error) {
    process.exitCode = statusOf(error);
    endSoon();
    if (!(error instanceof CommanderError))
      process.stderr.write(`indelible: ${messageOf(error)}\n`);
  }
}

function buildProgram(): Command {
  const program = new Command('indelible')
    .description('The audit log service that a SaaS embeds, and that its tenants can verify.')
    .version(versionOfPackage())
    .showHelpAfterError('(--help shows what is possible)')
    // Before the commands are made: they inherit it.
    .exitOverride();
  const { env } = process;
  serveCommand(program, env);
  migrateCommand(program, env);
  keygenCommand(program);
  logCommand(program, env);
  retentionCommand(program, env);
  eraseCommand(program, env);
  archiveCommand(program, env);
  doctorCommand(program, env);
  tenantCommand(program, env);
  keyCommand(program, env);
  importCommand(program, env);
  tailCommand(program, env);
  verifyCommand(program, env);
  exportCommand(program, env);
  return program;
}

function versionOfPackage(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Help and version that were asked for are fine; anything else of the parser's is wrong usage. */
function statusOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return exitCodeOf(error);
  return error.exitCode === 0 ? exitCodes.fine : exitCodes.usage;
}

function messageOf(error: unknown): string {
  if (error instanceof IndelibleError) return refusalText(error);
  const expected = [UsageError, FindingError, UnreachableError].some(
    (kind) => error instanceof kind,
  );
  if (error instanceof Error) return visible(error.message) + (expected ? '' : `\n${error.stack}`);
  return String(error);
}

function refusalText({ message, code, errors, requestId }: IndelibleError): string {
  const request = requestId === null ? '' : `, request ${requestId}`;
  const fields = errors.map((each) => `\n  ${each.path} ${each.message}`).map(visibleLine);
  return `${visible(message)} (${code}${request})${fields.join('')}`;
}

function visibleLine(line: string): string {
  return `\n${visible(line.slice(1))}`;
}

// A reader that goes away (`| head`) ends the work without a word.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCodes.fine);
});

await main();
