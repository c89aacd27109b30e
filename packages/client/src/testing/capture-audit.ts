import { type CatalogueFile, createCatalogue, errorCodes } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import type { EventCatalogue } from '../event/catalogue.ts';
import { type CapturedEvent, judgeEvent } from '../event/judge-event.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import { IndelibleError } from '../http/errors.ts';

export type { CapturedEvent } from '../event/judge-event.ts';

export interface CaptureOptions<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** The allowed words of events; without it, all words that the service accepts. */
  catalogue?: EventCatalogue<A, R>;
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
export interface AuditCapture<A extends string = AnyAction, R extends string = AnyResourceType>
  extends AuditSink {
  /** The captured events as the service would show them, in order. */
  readonly events: readonly CapturedEvent[];
  /** Refused events. They are also thrown, but the code under test may catch that. */
  readonly refusals: readonly IndelibleError[];
  /** Returns the event's id. Throws IndelibleError with the service's code and field errors. */
  record(event: EventInput<A, R>): string;
  /** Clears everything, for the next test. */
  clear(): void;
}

/**
 * A sink to pass to the application under test instead of its client or recorder. It applies the
 * service's rules, except those that need the service's database (`judgeEvent`).
 */
export function captureAudit<A extends string = AnyAction, R extends string = AnyResourceType>(
  options: CaptureOptions<A, R> = {},
): AuditCapture<A, R> {
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
