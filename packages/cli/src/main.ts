#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Before the modules are loaded: compiling a thousand of them takes half of a start. Beside the
// code, where only its owner writes, because what is read there is run. Elsewhere it is left out.
enableCompileCache(join(import.meta.dirname, '..', '.cache'));
const { endSoon, exitCodes } = await import('./io.ts');
const { run } = await import('./run.ts');

// A reader that goes away (`| head`) ends the work without a word. A terminal that goes away (EIO)
// sends SIGHUP, and a service then stops in order: an error of its last output must not end it
// before.
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
