import { type CatalogueFile, createCatalogue, errorCodes } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import { type CapturedEvent, judgeEvent } from '../event/judge-event.ts';
import { IndelibleError } from '../http/errors.ts';

export type { CapturedEvent } from '../event/judge-event.ts';

export interface CaptureOptions {
  /**
   * The tenant of the credential in production; `null` for a platform key, whose events must name
   * their tenant. Unless given, events may name any tenant or none.
   */
  tenantId?: string | null;
  /** What the service's CATALOGUE_FILE holds; its default catalogue unless given. */
  catalogueFile?: CatalogueFile;
  /** Milliseconds since 1970; the clock unless given. */
  now?: () => number;
}

/** A sink for tests: keeps what the service would record, and refuses what it would refuse. */
export interface AuditCapture extends AuditSink {
  /** As the service would show them, in the order in which they came. */
  readonly events: readonly CapturedEvent[];
  /** What was refused; also thrown, but the code under test may have caught it. */
  readonly refusals: readonly IndelibleError[];
  /** Returns the event's id. Throws IndelibleError with the service's code and field errors. */
  record(event: EventInput): string;
  /** Forgets everything, for the next test. */
  clear(): void;
}

/**
 * A capture to hand to the application under test in place of its client or recorder. It judges as
 * `judgeEvent` says: by the service's rules, but not by what takes the service's database.
 */
export function captureAudit(options: CaptureOptions = {}): AuditCapture {
  const { tenantId, catalogueFile, now = Date.now } = options;
  const catalogue = createCatalogue(catalogueFile);
  const events: CapturedEvent[] = [];
  const refusals: IndelibleError[] = [];
  return {
    events,
    refusals,
    record(sent) {
      const judged = judgeEvent(sent, { nowMs: now(), boundTenantId: tenantId, catalogue });
      if (judged.refusal === undefined) {
        events.push(judged.event);
        return judged.event.id;
      }
      const { code, detail, errors } = judged.refusal;
      const { status } = errorCodes[code];
      const told = `the service would refuse this event (${code}): ${detail}`;
      const error = new IndelibleError({ status, code, detail: told, requestId: null, errors });
      refusals.push(error);
      throw error;
    },
    clear() {
      events.length = 0;
      refusals.length = 0;
    },
  };
}
