import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests start hundreds of processes: each finds there what the ones before have compiled, which
// halves what a start costs.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '.cache', 'compiled');

export default defineConfig({
  test: {
    include: ['{packages,examples,e2e}/**/*.test.ts', '*.test.ts'],
    // One PostgreSQL for the whole run; every test file clones its own database from a template.
    globalSetup: './packages/server/src/testing/global-setup.ts',
    // Tests wait for the database and for processes of their own; one worker fewer than cores, the
    // default, leaves half a small machine idle.
    maxWorkers: Math.max(3, availableParallelism()),
    // Real processes, a database and a browser share two cores here: a deadline may be missed once.
    // The runner still tells which test needed a second go.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
