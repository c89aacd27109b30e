import type { DurabilityFacts } from './doctor.store.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/**
 * Whether an event answered with 201 survives a power failure and a failover. The service sets
 * synchronous_commit itself; these settings are the server's. None stops a start: only the operator
 * knows the storage, and a service that does not start records nothing.
 */
export function durabilityFinding(facts: DurabilityFacts): Finding {
  const check = 'durability';
  if (facts.fsync === 'off') {
    const detail =
      'fsync is off in PostgreSQL: a power failure or a crash of the machine can lose recorded events ' +
      'and destroy the database. Set fsync = on';
    return fail(check, detail);
  }
  if (facts.fullPageWrites === 'off') {
    const detail =
      'full_page_writes is off in PostgreSQL: a power failure can destroy pages of the database. Set ' +
      'it on, unless the file system writes pages of 8 KiB whole (ZFS does)';
    return warn(check, detail);
  }
  if (facts.replicas === 0 && facts.synchronousStandbys !== '') {
    const detail =
      `commits wait for ${facts.synchronousStandbys}, and no replica is connected: recording answers ` +
      '503. Let a replica follow this server (primary_conninfo), or set synchronous_standby_names, see ' +
      'Failover in docs/operations/postgresql.md';
    return fail(check, detail);
  }
  if (facts.replicas > 0 && facts.synchronousStandbys === '') {
    const detail =
      `PostgreSQL has ${facts.replicas} replicas and waits for none of them: a failover loses the ` +
      'newest events, and recording stops until you act. Set synchronous_standby_names, see Failover ' +
      'in docs/operations/postgresql.md';
    return warn(check, detail);
  }
  return ok(check, 'a commit is on disk before it is answered');
}
