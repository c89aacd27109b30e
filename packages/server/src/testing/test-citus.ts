import { spawnSync } from 'node:child_process';
import { clusterNodes } from './cluster.ts';

/* `npm run test:citus [files]`: the server's tests on the cluster of CITUS_TEST_URLS. */

if (clusterNodes().length < 2) {
  console.log('NOT RUN: CITUS_TEST_URLS names no cluster (coordinator, then workers)');
} else {
  const files = process.argv.slice(2);
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'citus', ...files];
  process.exitCode = spawnSync(process.execPath, vitest, { stdio: 'inherit' }).status ?? 1;
}
