#!/usr/bin/env node
import { exitCodes } from './exit-codes.ts';
import { endSoon } from './io.ts';
import { run } from './run.ts';

// A reader that goes away (`| head`) ends the work without a word.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCodes.fine);
});

const { env, stdin, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), { env, stdin, stdout, stderr, exitCode: 0 });
if (process.exitCode !== exitCodes.fine) endSoon();
