#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Io } from './io.ts';

// Before the modules are loaded: compiling a thousand of them takes half of a start. Beside the
// code, where only its owner writes, because what is read there is run. Elsewhere it is left out.
enableCompileCache(join(import.meta.dirname, '..', '.cache'));
const { endSoon, exitCodes } = await import('./io.ts');
const { run } = await import('./run.ts');
const { plainReasons } = await import('./text.ts');

const { env, stdin, stdout, stderr } = process;
const io: Io = { env, stdin, stdout, stderr, exitCode: exitCodes.fine };

// A reader of the answer that goes away (`| head`) ends the work without a word, with what it has
// found so far; one of progress does not. A terminal that goes away (EIO) sends SIGHUP, and a
// service then stops in order: an error of its last output must not end it before.
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EIO' || (error.code === 'EPIPE' && stream === stderr)) return;
    if (error.code === 'EPIPE') process.exit(io.exitCode);
    const text = `the output cannot be written: ${error.message}`;
    if (stream === stdout) stderr.write(`indelible: ${plainReasons(text)}\n`);
    process.exit(exitCodes.finding);
  });
}

process.exitCode = await run(process.argv.slice(2), io);
if (process.exitCode !== exitCodes.fine) endSoon();
