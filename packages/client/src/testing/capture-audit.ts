import { type CatalogueFile, createCatalogue, errorCodes } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import { type CapturedEvent, judgeEvent } from '../event/judge-event.ts';
import { IndelibleError } from '../http/errors.ts';

export type { CapturedEvent } from '../event/judge-event.ts';

export interface CaptureOptions {
  /**
   * The tenant of the credential in production; `null` for a platform key, whose events must name
   * their tenant. Without it, events may name any tenant or none.
   */
  tenantId?: string | null;
  /** The content of the service's CATALOGUE_FILE; default: the default catalogue. */
  catalogueFile?: CatalogueFile;
  /** Milliseconds since 1970; default: the clock. */
  now?: () => number;
}

/** A sink for tests: holds what the service would record, and refuses what it would refuse. */
export interface AuditCapture extends AuditSink {
  /** As the service would show them, in order. */
  readonly events: readonly CapturedEvent[];
  /** Refused events. They are also thrown, but the code under test may catch that. */
  readonly refusals: readonly IndelibleError[];
  /** Returns the event's id. Throws IndelibleError with the service's code and field errors. */
  record(event: EventInput): string;
  /** Clears everything, for the next test. */
  clear(): void;
}

/**
 * A sink to pass to the application under test instead of its client or recorder. It applies the
 * service's rules, except those that need the service's database (`judgeEvent`).
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
