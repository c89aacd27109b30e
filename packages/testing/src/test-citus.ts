import { spawnSync } from 'node:child_process';
import { clusterNodes, workerCommands } from './cluster.ts';

/*
 * `npm run test:citus [files]`: the server's tests on the cluster of CITUS_TEST_URLS, then one by
 * one what moves, stops and kills its nodes.
 */

if (clusterNodes().length < 2) {
  console.log('NOT RUN: CITUS_TEST_URLS names no cluster (coordinator, then workers)');
} else {
  const files = process.argv.slice(2);
  const run = (...more: string[]) => {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--passWithNoTests', ...more];
    const { status } = spawnSync(process.execPath, [...vitest, ...files], { stdio: 'inherit' });
    if (status !== 0) process.exitCode = status ?? 1;
  };
  run('--mode', 'citus', '--tags-filter=!plain');
  const { stop, start } = workerCommands();
  if (stop && start) run('--mode', 'citus-alone', '--no-file-parallelism');
  else {
    console.log('NOT RUN: a worker that stops (CITUS_TEST_WORKER_STOP, CITUS_TEST_WORKER_START)');
    run('--mode', 'citus-alone', '--no-file-parallelism', '--tags-filter=!stops-worker');
  }
}
