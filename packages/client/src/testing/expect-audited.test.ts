import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { EventInput } from '../api-types.ts';
import { IndelibleError } from '../http/errors.ts';
import { captureAudit, expectAudited } from './index.ts';

const ana = { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', email: 'ana@example.com', role: 'admin' };
const queue = { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: 'Sales' };
const changed: EventInput = {
  actor: ana,
  action: 'update',
  resource: queue,
  before: { maxWaitSeconds: 30, steps: [1, 2], token: 'a' },
  after: { maxWaitSeconds: 60, steps: [1, 2], token: 'b' },
};

/** What the expectation fails with. */
function failureOf(work: () => unknown): Error & Record<string, unknown> {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error as Error & Record<string, unknown>;
  }
  throw new Error('it did not fail');
}

test('an event is found by any part of it, and what the service adds is part of it', () => {
  const audit = captureAudit({ tenantId: 'AAAAAAAA-0000-4000-8000-000000000001' });
  audit.record({ actor: ana, action: 'login', resource: { ...queue, type: 'session' } });
  const id = audit.record(changed);
  expect(expectAudited(audit, { resource: { name: 'Sales' }, action: 'update' }).id).toBe(id);
  expectAudited(audit, {
    id,
    tenantId: 'aaaaaaaa-0000-4000-8000-000000000001',
    category: 'configuration',
    diff: { maxWaitSeconds: { from: 30, to: 60 }, token: { to: '[masked]' } },
    before: { steps: [1, 2] },
    warnings: ['secret_masked'],
  });
  expectAudited(audit, { actor: { email: /^ana@/ }, id: expect.any(String), reason: null });
});

test('a failure names the nearest event and each value that differs', () => {
  const audit = captureAudit();
  audit.record({ actor: ana, action: 'login', resource: { ...queue, type: 'session' } });
  audit.record(changed);
  const expected = {
    action: 'update',
    diff: { maxWaitSeconds: { to: 90 } },
    before: { steps: [1] },
  };
  const { message, ...facts } = failureOf(() => expectAudited(audit, expected));
  expect(message.split('\n')).toEqual([
    `no audit event matches ${JSON.stringify(expected)}`,
    'nearest of 2: events[1], update queue Sales by ana@example.com',
    '  diff.maxWaitSeconds.to: expected 90, got 60',
    '  before.steps: expected [1], got [1,2]',
  ]);
  expect(facts).toMatchObject({ name: 'AssertionError', code: 'ERR_ASSERTION', expected });
  expect(facts.actual).toBe(audit.events[1]);
});

test('a failure says when nothing was recorded, and what was refused meanwhile', () => {
  const audit = captureAudit();
  const noWord = 'is not a snake_case word, or several with dots between them';
  const bad = { ...changed, action: 'No word' };
  const refusal = failureOf(() => audit.record(bad));
  expect(refusal).toBeInstanceOf(IndelibleError);
  expect(refusal).toMatchObject({
    status: 422,
    code: 'validation_failed',
    errors: [{ path: '/action', code: 'invalid_format', message: noWord }],
  });
  expect(failureOf(() => expectAudited(audit, { action: 'update' })).message.split('\n')).toEqual([
    'no audit event matches {"action":"update"}',
    'no event was recorded',
    `refused: the service would refuse this event (validation_failed): /action ${noWord}`,
  ]);
});

test('lists are compared to their ends, element by element, in what an expectation names of each', () => {
  const audit = captureAudit();
  const steps = Array.from({ length: 200 }, (_, index) => ({ at: index, name: `step ${index}` }));
  audit.record({ ...changed, before: { steps }, after: { steps } });
  expectAudited(audit, { after: { steps: steps.map(({ at }) => ({ name: /step/, at })) } });
  const other = steps.with(199, { at: 199, name: 'another' });
  expect(failureOf(() => expectAudited(audit, { after: { steps: other } })).message).toContain(
    'after.steps.199.name: expected "another", got "step 199"',
  );
  for (const wrong of [steps.slice(1), [...steps, null], { ...steps }]) {
    failureOf(() => expectAudited(audit, { after: { steps: wrong } }));
  }
  expect(failureOf(() => expectAudited(audit, { after: { steps: 1n } })).message).toContain('1n');
});

test('a member that is not there differs from one that is null, and clear forgets everything', () => {
  const audit = captureAudit();
  audit.record({ ...changed, before: { a: 1 }, after: { a: 2 } });
  expect(failureOf(() => expectAudited(audit, { after: { b: null } })).message).toContain(
    'after.b: expected null, got undefined',
  );
  failureOf(() => audit.record({ ...changed, action: 'page_view' }));
  audit.clear();
  expect([audit.events, audit.refusals]).toEqual([[], []]);
});

test('node:test reports a failure as a failed assertion, with the nearest event', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-expect-'));
  const source = `
    import { test } from 'node:test';
    import { captureAudit, expectAudited } from '${pathToFileURL(join(import.meta.dirname, 'index.ts'))}';
    const audit = captureAudit();
    audit.record(${JSON.stringify(changed)});
    test('passes', () => void expectAudited(audit, { action: 'update' }));
    test('fails', () => void expectAudited(audit, { action: 'delete' }));
  `;
  writeFileSync(join(folder, 'audit.test.mjs'), source);
  const args = ['--test', '--test-reporter=tap', 'audit.test.mjs'];
  // Without NODE_TEST_CONTEXT and the like: a runner within a runner reports to the outer one.
  const env = { PATH: process.env.PATH };
  const outcome = await promisify(execFile)(process.execPath, args, { cwd: folder, env }).catch(
    (error: { stdout: string }) => error,
  );
  rmSync(folder, { recursive: true });
  expect(outcome.stdout).toMatch(/^ok 1 - passes$/m);
  expect(outcome.stdout).toMatch(/^not ok 2 - fails$/m);
  expect(outcome.stdout).toContain('action: expected "delete", got "update"');
  expect(outcome.stdout).toContain("code: 'ERR_ASSERTION'");
});

test("a capture judges by the service's own catalogue, when it is given", () => {
  const audit = captureAudit({
    catalogueFile: {
      events: {
        actions: { data_access: ['listen'] },
        resourceTypes: ['call'],
        sensitiveTypes: ['call'],
        notRecordable: [{ actions: ['ping'], why: 'Pings are noise.' }],
      },
    },
  });
  const call = { ...queue, type: 'call' };
  audit.record({ actor: ana, action: 'listen', resource: call });
  audit.record({ actor: ana, action: 'update', resource: call });
  expect(audit.events.map(({ category, warnings }) => [category, warnings])).toEqual([
    ['data_access', []],
    ['configuration', ['state_missing']],
  ]);
  expect(() => audit.record({ actor: ana, action: 'ping', resource: queue })).toThrow('Pings');
  expect(() => captureAudit().record({ actor: ana, action: 'read', resource: call })).toThrow(
    'call-detail record',
  );
});
