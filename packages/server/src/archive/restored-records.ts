import {
  counted,
  HiddenSegments,
  parseBodyLine,
  ServiceRecords,
  withholdableSegments,
} from '@indelible/protocol';
import { actOf, byItself, type OwnEvent } from '../own-event.ts';
import type { ArchivedRow } from './archived-row.ts';
import { bodyLine } from './body-line.ts';
import type { ArchiveManifest, StatedErasure } from './manifest.ts';
import { ArchiveConflict } from './part-files.ts';

/** The service's records in a restored log, and its missing events. */
export class RestoredRecords {
  readonly #hidden = new HiddenSegments();
  readonly #records = new ServiceRecords();

  take(rows: readonly ArchivedRow[]): void {
    for (const row of rows) {
      const { body } = row;
      if (body === null) continue;
      const { recordedByKind, resourceId, tenantId } = body.event;
      const isErased = body.hashes.some((hash) => hash !== null);
      const isRecord = recordedByKind === 'service' && resourceId === tenantId;
      const line = isErased || isRecord ? bodyLine(row) : null;
      if (line === null) continue;
      const whole = parseBodyLine(line);
      this.#records.take(whole.event);
      this.#hidden.take(whole);
    }
  }

  /** Whether the last record of the tenant's terms shows a legal hold. */
  get underHold(): boolean {
    return this.#records.terms.at(-1)?.after?.legalHold === true;
  }

  /**
   * Erasures that the archive states without the log's record; ArchiveConflict if something missing
   * remains unexplained.
   */
  unrecorded(manifests: readonly ArchiveManifest[], size: number): StatedErasure[] {
    const stated = new Map<string, StatedErasure>();
    for (const each of manifests.flatMap(({ erasures = [] }) => erasures)) {
      if (each.size >= size) stated.set(`${each.size} ${each.segment}`, each);
    }
    const all = [...this.#records.erasures, ...[...stated.values()].map(recordOf)];
    for (const name of withholdableSegments) {
      const count = this.#hidden.unexplained(name, all);
      if (count === 0) continue;
      throw new ArchiveConflict(
        `${counted(count, 'event of the archive lacks its', 'events of the archive lack their')} ` +
          `${name}, and no record says that it was ` +
          'erased',
      );
    }
    return [...stated.values()];
  }
}

function recordOf({ segment, actors, events, size }: StatedErasure) {
  return { sequence: size, segment, size, actors: new Set(actors), events: new Set(events) };
}

/** The new record of an erasure whose own record was lost with the database. */
export function restoredErasure(
  tenantId: string,
  { segment, actors, events, size }: StatedErasure,
): OwnEvent {
  const reason =
    'The archive that the log was loaded from states this erasure, and ends before its record.';
  const resource = { type: 'audit_log', id: tenantId, name: 'Audit log' };
  const after = { segment, actors, events, size };
  return actOf({ actor: byItself, reason }, 'erase', resource, { after });
}
