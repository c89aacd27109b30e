import { Command, CommanderError } from 'commander';
import pkg from '../package.json' with { type: 'json' };
import { archiveCommand } from './commands/archive.ts';
import { backupCommand } from './commands/backup.ts';
import { distributeCommand } from './commands/distribute.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eraseCommand } from './commands/erase.ts';
import { exportCommand } from './commands/export.ts';
import { fsckCommand } from './commands/fsck.ts';
import { importCommand } from './commands/import.ts';
import { keyCommand } from './commands/key.ts';
import { keygenCommand } from './commands/keygen.ts';
import { logCommand } from './commands/log.ts';
import { migrateCommand } from './commands/migrate.ts';
import { retentionCommand } from './commands/retention.ts';
import { rulesCommand } from './commands/rules.ts';
import { serveCommand } from './commands/serve.ts';
import { tailCommand } from './commands/tail.ts';
import { tenantCommand } from './commands/tenant.ts';
import { verifyCommand } from './commands/verify.ts';
import { failureText } from './failure-text.ts';
import { exitCodeOf, exitCodes, type Io } from './io.ts';

const commands = [
  serveCommand,
  migrateCommand,
  distributeCommand,
  keygenCommand,
  logCommand,
  retentionCommand,
  eraseCommand,
  archiveCommand,
  doctorCommand,
  backupCommand,
  fsckCommand,
  tenantCommand,
  keyCommand,
  rulesCommand,
  importCommand,
  tailCommand,
  verifyCommand,
  exportCommand,
];

const help = `
Exit status: 0 success, 1 a finding, 2 wrong usage, 3 the service cannot be reached.
docs/cli.md describes each command; "indelible serve --demo" starts a service to try out.`;

/** Runs the command in `args` and returns its exit status; never throws. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  let running: Command | null = null;
  const program = buildProgram(io).hook('preAction', (_, command) => {
    running = command;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return io.exitCode;
  } catch (error) {
    const text = () => failureText(error, running, io.env);
    if (!(error instanceof CommanderError)) io.stderr.write(`indelible: ${text()}\n`);
    return statusOf(error);
  }
}

export function buildProgram(io: Io): Command {
  const program = new Command('indelible')
    .description('The audit log service that a SaaS embeds, and that its tenants can verify.')
    .version(pkg.version)
    // Set before the commands are added, because they inherit it.
    .showHelpAfterError('(--help shows what is possible)')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'indelible: ')),
    })
    .addHelpText('after', help)
    .exitOverride();
  for (const addCommand of commands) addCommand(program, io);
  addJson(program);
  return program;
}

/** Every command takes it. */
function addJson(command: Command): void {
  if (command.commands.length === 0) command.option('--json', 'print JSON');
  for (const each of command.commands) addJson(each);
}

/** Requested help and version exit with 0; other errors of the parser are wrong usage. */
function statusOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return exitCodeOf(error);
  return error.exitCode === 0 ? exitCodes.fine : exitCodes.usage;
}
