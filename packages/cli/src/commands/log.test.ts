import { envOf } from '@indelible/testing/archived';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';

const service = await testService();

const env = envOf(service);
const reopen = (...args: string[]) => runCli(['log', 'reopen', ...args], { env });

test('logs are not reopened without --yes; an installation without a log has none to reopen', async () => {
  const asked = await reopen();
  expect([asked.status, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  const { status, stdout } = await reopen('--yes');
  expect([status, stdout]).toEqual([0, 'there is no log to reopen\n']);
});

test('each log goes on under another name, and both are told, also of one that lost nothing', async () => {
  const lose = async () => {
    const { id } = await service.tenant();
    await service.app.checkpoints.tick();
    await service.owner.query(`DELETE FROM log_tail WHERE tenant_id = '${id}' AND sequence = 1`);
    return id;
  };
  const tenantId = await lose();
  const { status, stdout } = await reopen('--yes', '--json');
  expect(status).toBe(0);
  expect(JSON.parse(stdout).reopened).toMatchObject([{ tenantId, size: 1, publishedSize: 2 }]);
  const other = await lose();
  const again = (await reopen('--yes')).stdout;
  expect(again).toContain(`tenant ${other}: 1 entry left, 2 published; log `);
  expect(again).toContain(`tenant ${tenantId}: 2 entries left, 2 published; log `);
});

test('a log of which nothing is left is told by the name it had, as text and as JSON', async () => {
  for (const args of [[], ['--json']]) {
    const { id } = await service.tenant();
    await service.app.checkpoints.tick();
    // As if tenant and log had come after the backup.
    const tables = ['audit_events', 'api_keys', 'log_tail'];
    for (const table of tables) {
      await service.owner.query(`DELETE FROM ${table} WHERE tenant_id = '${id}'`);
    }
    const lost = `DELETE FROM log_heads WHERE tenant_id = '${id}' RETURNING log_id`;
    const logId: string = (await service.owner.query(lost)).rows[0].log_id;
    await service.owner.query(`DELETE FROM tenants WHERE id = '${id}'`);
    const { status, stdout } = await reopen('--yes', ...args);
    expect(status).toBe(0);
    if (args.length === 0) {
      const hex = logId.replaceAll('-', '');
      expect(stdout).toContain(
        `log ${hex}: nothing is left of 2 published entries, and its tenant is lost\n`,
      );
    } else {
      const gone = { tenantId: null, logId: null, previousLogId: logId, size: 0, publishedSize: 2 };
      expect(JSON.parse(stdout).reopened).toContainEqual(gone);
    }
  }
});
