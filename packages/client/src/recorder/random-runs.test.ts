import { cpSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { newFolder } from '@indelible/testing/folders';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BatchResult, type EventInput, IndelibleError, UnreachableError } from '../index.ts';
import { changeEvent } from '../outbox/testing/change-event.ts';
import { createRecorder } from './index.ts';

/*
 * A host that records, flushes, closes and is killed at any moment, and a service that answers each
 * call in another way, against a model that says only what each tenant's log must hold in the end.
 */

const tenants = [1, 2, 3].map((n) => `c0ffee00-0000-4000-8000-00000000000${n}`);
const queueId = 'c0ffee00-0000-4000-8000-000000000009';
const isPoison = (change: number) => change % 11 === 7;

/** What becomes of a call; `stuck` has a bit for each tenant whose log takes nothing. */
interface Mood {
  fails: 'never' | 'before' | 'half way' | 'after';
  stuck: number;
  eventsMax: number;
}
const well: Mood = { fails: 'never', stuck: 0, eventsMax: 1_000 };

class Service {
  readonly stored = new Map(tenants.map((tenant) => [tenant, [] as number[]]));
  readonly #ids = new Set<string>();
  moods: Mood[];

  constructor(moods: readonly Mood[]) {
    this.moods = [...moods];
  }

  async answer(texts: readonly string[]): Promise<BatchResult[]> {
    const mood = this.moods.shift() ?? well;
    await nextTurn();
    if (texts.length > mood.eventsMax) throw new IndelibleError(tooLarge);
    const kept = { before: 0, 'half way': texts.length >> 1, after: Infinity, never: Infinity };
    const results = texts.slice(0, kept[mood.fails]).map((text, index) => {
      return { index, ...this.#store(JSON.parse(text), mood.stuck) };
    });
    await nextTurn();
    if (mood.fails === 'never') return results;
    throw new UnreachableError('connection reset');
  }

  #store({ id = '', tenantId = '', diff }: EventInput, stuck: number): Omit<BatchResult, 'index'> {
    const change = Number(diff?.changes?.to);
    if (stuck & (1 << tenants.indexOf(tenantId))) return rejected('unavailable');
    if (isPoison(change)) return rejected('validation_failed');
    if (this.#ids.has(id)) return { status: 'duplicate' };
    this.#ids.add(id);
    this.stored.get(tenantId)?.push(change);
    return { status: 'created' };
  }
}

const tooLarge = { status: 413, code: 'payload_too_large', detail: '', requestId: null } as const;
const rejected = (code: 'unavailable' | 'validation_failed') =>
  ({ status: 'rejected', error: { code, detail: 'why' } }) as const;

const root = newFolder();
const newSpool = () => mkdtempSync(join(root, 'spool-'));
const never = new Promise<never>(() => {});

/** One life of the host's process; what it does after its end is not observed. */
function begin(service: Service, spoolFolder: string, durable: boolean) {
  const life = { isOver: false };
  const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> => {
    const answer = life.isOver ? never : service.answer(texts);
    await answer.catch(() => {});
    return life.isOver ? never : answer;
  };
  const recorder = createRecorder({
    client: { recordBatchTexts },
    spoolFolder,
    durable,
    spoolBytesMax: 64 * 1024, // spool files of 4 KiB, which is nine events
    batchMax: 4,
    flushMs: 60_000,
    onRejected: () => {},
    onWarning: () => {},
  });
  return { life, recorder, spoolFolder };
}

/** What the disk holds when a process is killed, as its heir finds it. */
function leftBehind(spoolFolder: string): string {
  const heirs = newSpool();
  for (const name of readdirSync(spoolFolder)) {
    const folder = join(heirs, `free.${name.slice(name.lastIndexOf('.') + 1)}`);
    cpSync(join(spoolFolder, name), folder, { recursive: true });
  }
  return heirs;
}

type Step = { record: number } | 'flush' | 'begin to flush' | 'turn' | 'kill' | 'close';

/** Returns what the logs hold, and what they must hold. */
async function run(steps: readonly Step[], moods: Mood[], durable: boolean) {
  const service = new Service(moods);
  const recorded = new Map(tenants.map((tenant) => [tenant, [] as number[]]));
  let host = begin(service, newSpool(), durable);
  let changes = 0;
  const end = async (folder: string) => {
    host.life.isOver = true;
    await host.recorder.close({ timeoutMs: 1 });
    host = begin(service, folder, durable);
  };
  for (const step of steps) {
    if (step === 'flush') await host.recorder.flush();
    else if (step === 'begin to flush') void host.recorder.flush();
    else if (step === 'turn') await nextTurn();
    else if (step === 'close') await end(host.spoolFolder);
    // Without `durable` a process that is killed loses what memory holds: it is closed instead.
    else if (step === 'kill') await end(durable ? leftBehind(host.spoolFolder) : host.spoolFolder);
    else {
      const tenant = tenants[step.record] ?? '';
      changes += 1;
      host.recorder.record(changeEvent(tenant, queueId, changes));
      if (!isPoison(changes)) recorded.get(tenant)?.push(changes);
    }
  }
  service.moods = [];
  for (let times = 0; times < 2; times += 1) await host.recorder.flush();
  const { buffered, spooled, spooledBytes, lost } = await host.recorder.close();
  const left = { buffered, spooled, spooledBytes, lost, files: readdirSync(host.spoolFolder) };
  return { stored: service.stored, recorded, left };
}

const nothing = { buffered: 0, spooled: 0, spooledBytes: 0, lost: 0, files: [] };

const mood: fc.Arbitrary<Mood> = fc.record({
  fails: fc.constantFrom('never', 'never', 'never', 'before', 'half way', 'after'),
  stuck: fc.constantFrom(0, 0, 1, 2, 3, 5, 7),
  eventsMax: fc.constantFrom(1_000, 1_000, 3, 1),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 14, arbitrary: fc.record({ record: fc.nat(tenants.length - 1) }) },
  { weight: 2, arbitrary: fc.constantFrom('begin to flush' as const, 'turn' as const) },
  { weight: 2, arbitrary: fc.constantFrom('flush' as const, 'turn' as const) },
  { weight: 1, arbitrary: fc.constantFrom('kill' as const, 'close' as const) },
);

test('each log holds the recorded events in order, once, however calls and processes end', async () => {
  const steps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' });
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(mood, { maxLength: 40, size: 'max' }),
      fc.boolean(),
      async (...given) => {
        const { stored, recorded, left } = await run(...given);
        expect(stored).toEqual(recorded);
        expect(left).toEqual(nothing);
      },
    ),
    { numRuns: 30 },
  );
});
