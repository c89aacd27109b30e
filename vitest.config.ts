import { availableParallelism } from 'node:os';
import { join, matchesGlob, relative } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Tests start dozens of processes: each finds there what the ones before have compiled, which
// halves what a start costs.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '.cache', 'compiled');

/** What needs another runtime or release, a packed client or server, or Prisma: `test:compat`. */
const compat = ['{packages,examples,e2e}/**/*.compat.test.ts'];

/** Processes and databases killed under load, and at every step: `npm run nemesis`. */
const nemesis = ['{packages,nemesis}/**/*.nemesis.test.ts'];

/** What operators run, with the real programs: `npm run test:deploy`. */
const deploy = ['deploy/**/*.deploy.test.ts'];

/** `test:citus`: the server's tests, then alone what needs a cluster and stops nodes of it. */
const cluster = ['packages/server/src/**/*.citus.test.ts'];
const citus = ['packages/server/src/**/*.test.ts'];
const citusAlone = [...cluster, 'nemesis/**/*.test.ts'];

/**
 * Their subject is a plain or the embedded PostgreSQL, or what a cluster has not: DETACH
 * CONCURRENTLY, triggers, locks and settings of a coordinator that reach the rows on its workers.
 * Single tests have the tag `plain`.
 */
const plain = [
  'packages/server/src/postgres/{embedded*,distribute,upgrade*}.test.ts',
  'packages/server/src/retention/{detach-pending,salts-constraint}.test.ts',
  'packages/**/*.{nemesis,compat}.test.ts',
];

/**
 * Browsers, processes of their own, S3, long histories, jobs with many services, load and large
 * bodies: not in `test:fast`.
 */
const slow = [
  '{examples,e2e}/**',
  'packages/{cli,panel/build}/**',
  'packages/server/src/{docs,postgres,retention,archive,log,exports,objects}/**',
  'packages/server/src/**/{main,worker-role,interruptions,delivery,streams,bounded-bodies}.test.ts',
  'packages/server/src/**/{evaluate.job,restore.job,erase,elsewhere}.test.ts',
  'packages/server/src/{record,list}/{flush,list,sequence-list,record-properties}.test.ts',
  'packages/server/src/http/hostile-connections.test.ts',
  'packages/client/src/outbox/outbox.test.ts',
];

/**
 * What counts days, months or years, for `test:calendar`. Nothing that waits for a timeout of
 * PostgreSQL: its timers stand still under faketime.
 */
const calendar = [
  'packages/protocol/src/{plan,event/{timestamp,take-event-time},filter/{time-buckets,event-filter,stats-query}}.test.ts',
  'packages/protocol/src/verify/*cover.test.ts',
  'packages/panel/src/{search,i18n,pages/{events,operator-access}}/*.test.ts',
  'packages/server/src/{digests,retention}/{digests,period,retention,schedule,serving-login}.test.ts',
  'packages/server/src/{archive,exports,alerts,erasure,tenants}/**/{download.routes,quota,export-mail,test-rule,elsewhere,terms-mail}.test.ts',
  'packages/server/src/{record,stats,sessions,postgres,operations}/{backdated,stats,session-times,clock,doctor}.test.ts',
  'packages/cli/src/**/{retention,rules,retained-log}.test.ts',
];

/** What has a command of its own, by the mode of that. `npm test` has only the first of them. */
const tiers: Record<string, string[]> = {
  tidy: ['tidy.test.ts'],
  compat,
  nemesis,
  deploy,
  calendar,
  citus,
  'citus-alone': citusAlone,
};

/** What lasts longest begins, and short files fill what is left: nothing waits for a long end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const groups = [['{examples,e2e,nemesis}/**'], slow];
    const rank = ({ moduleId }: TestSpecification) => {
      const path = relative(import.meta.dirname, moduleId);
      const at = groups.findIndex((globs) => globs.some((glob) => matchesGlob(path, glob)));
      return at < 0 ? groups.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig(({ mode }) => ({
  test: {
    include: tiers[mode] ?? ['{packages,examples,e2e,locales,deploy}/**/*.test.ts', '*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      ...(mode in tiers && mode !== 'calendar' ? [] : [...compat, ...nemesis, ...deploy]),
      ...(mode === 'citus' ? plain : []),
      ...(mode === 'citus-alone' ? [] : cluster),
      ...(mode === 'fast' ? slow : []),
    ],
    // One PostgreSQL for the whole run; every test file clones its own database from a template.
    globalSetup: mode === 'tidy' ? [] : './packages/testing/src/global-setup.ts',
    setupFiles: mode === 'calendar' ? ['./packages/testing/src/shared-clock.ts'] : [],
    // A worker runs many files and loads the service once: loading it is most of the time of a
    // short file.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Tests wait for the database and for processes of their own: as many workers as cores leave
    // some of these idle. Each worker loads the service, for 5 seconds of processor time.
    maxWorkers: availableParallelism() + 1,
    // These end only what hangs: what a test takes grows with the load of the machine, without
    // bound. Single tests and calls name no shorter limits.
    expect: { poll: { timeout: 300_000 } },
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    tags: [
      { name: 'plain', description: 'needs one PostgreSQL: not in test:citus' },
      { name: 'stops-worker', description: 'needs commands that stop a worker of the cluster' },
    ],
  },
}));
