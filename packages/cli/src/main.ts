#!/usr/bin/env node
import { endSoon, exitCodes } from './io.ts';
import { run } from './run.ts';

// A reader that goes away (`| head`) ends the work without a word. A terminal that goes away (EIO)
// sends SIGHUP, by which a service ends in order: its last words must not cut that off.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EIO') return;
    if (error.code !== 'EPIPE' || stream === process.stderr) throw error;
    process.exit(exitCodes.fine);
  });
}

const { env, stdin, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), { env, stdin, stdout, stderr, exitCode: 0 });
if (process.exitCode !== exitCodes.fine) endSoon();
