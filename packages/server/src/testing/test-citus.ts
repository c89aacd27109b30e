import { spawnSync } from 'node:child_process';
import { clusterNodes } from './cluster.ts';

/* `npm run test:citus [files]`: the server's tests on the cluster of CITUS_TEST_URLS. */

if (clusterNodes().length < 2) {
  console.log('NOT RUN: CITUS_TEST_URLS names no cluster (coordinator, then workers)');
} else {
  const given = process.argv.slice(2);
  const files = given.length > 0 ? given : ['packages/server/src'];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...files];
  process.exitCode = spawnSync(process.execPath, vitest, { stdio: 'inherit' }).status ?? 1;
}
