import { eventIdFromUuid } from '@indelible/protocol';
import { expect } from 'vitest';
import type { Report } from '../verify/report.ts';
import type { VerifiedService } from './verified-service.ts';

const tables = ['audit_events', 'log_heads', 'log_tail', 'log_tiles', 'log_checkpoints'];

/** Copies of the tables of logs, for `restoreTables`. */
export async function keepTables(owner: VerifiedService['service']['owner']): Promise<void> {
  for (const table of tables) await owner.query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
}

/** Rows as they were kept. Only those that differ are written: each has entries in many indexes. */
export async function restoreTables(owner: VerifiedService['service']['owner']): Promise<void> {
  const statements = tables.map(
    (table) => `
      DELETE FROM ${table} AS now WHERE now::text NOT IN (SELECT kept::text FROM kept_${table} AS kept);
      INSERT INTO ${table} SELECT * FROM kept_${table} AS kept
        WHERE kept::text NOT IN (SELECT now::text FROM ${table} AS now)`,
  );
  await owner.query(statements.join('; '));
}

interface ExpectedDamage {
  /** The first damaged sequence. */
  first: number;
  /** The reported event id; default: the id of the event logged there. */
  event?: string;
  codes: string[];
}

/** Damages the tables of a verified service, and repairs them. */
export interface Damage {
  /** Runs statements as the owner, verifies, and restores everything. */
  report(...statements: string[]): Promise<Report>;
  /** Restores the tables as they were when the damage was prepared. */
  restore(): Promise<void>;
  /** The undamaged event at a sequence: its id in the database and in the API. */
  at(sequence: number): Promise<{ id: string; eventId: string }>;
  expectFirst(report: Report, expected: ExpectedDamage): Promise<void>;
}

/** Begins with a verification without findings, so that the machine knows the checkpoint. */
export async function damageOf(log: VerifiedService): Promise<Damage> {
  const { owner } = log.service;
  const { result, findings } = await log.verify();
  expect({ result, findings }).toEqual({
    result: 'intact',
    findings: { count: 0, byCode: {}, kept: [] },
  });
  await keepTables(owner);
  const restore = () => restoreTables(owner);
  const at = async (sequence: number) => {
    const { rows } = await owner.query<{ id: string }>(
      'SELECT id FROM kept_audit_events WHERE tenant_id = $1 AND sequence = $2',
      [log.tenant.id, sequence],
    );
    const id = rows[0]?.id ?? '';
    return { id, eventId: eventIdFromUuid(id) };
  };
  return {
    at,
    restore,
    async report(...statements) {
      for (const statement of statements) await owner.query(statement);
      return log.verify().finally(restore);
    },
    async expectFirst(report, { first, event, codes }) {
      const { eventId } = await at(first);
      expect(report.result).toBe('damaged');
      expect(Object.keys(report.findings.byCode).sort()).toEqual(codes.sort());
      const named = report.firstDamage;
      expect([named?.sequence, named?.lastSequence]).toEqual([first, first]);
      if (event === undefined) expect([named?.eventId, named?.loggedEventId]).toContain(eventId);
      else expect(named?.eventId).toBe(event);
    },
  };
}
