import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/*
 * npm run nemesis                      every test of this tier, with one attack
 * npm run nemesis -- --minutes 60      attacks alone, for so long
 *   --seed N                           the first one as it was; each prints its seed
 *   --faults 'kill a process,…'        with these faults alone
 */

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, faults: { type: 'string' } },
});
const { minutes = '0', seed, faults } = values;
const isAttackAlone = Object.keys(values).length > 0;
const settings = {
  NEMESIS_MINUTES: minutes,
  ...(seed && { NEMESIS_SEED: seed }),
  ...(faults && { NEMESIS_FAULTS: faults }),
};
const root = join(import.meta.dirname, '..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const args = ['run', '--mode', 'nemesis', '--root', root, ...(isAttackAlone ? ['nemesis/'] : [])];
const env = { ...process.env, ...settings };
process.exitCode =
  spawnSync(process.execPath, [vitest, ...args], { env, stdio: 'inherit' }).status ?? 1;
