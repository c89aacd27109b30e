import {
  type Catalogue,
  type Category,
  createMasker,
  defaultCatalogue,
  defaultMaskedKeys,
  type EventRefusal,
  eventText,
  eventUuid,
  nilUuid,
  takeEvent,
  type WarningCode,
} from '@indelible/protocol';
import type { AuditEvent, State } from '../api-types.ts';

/** An event as the service would show it, but for what only its log can tell. */
export interface CapturedEvent
  extends Pick<AuditEvent, 'id' | 'timestamp' | 'actor' | 'action' | 'resource' | 'diff'> {
  /** Null where neither event nor capture name a tenant. */
  tenantId: string | null;
  crossTenant: boolean;
  reason: string | null;
  category: Category;
  hasState: boolean;
  before: State | null;
  after: State | null;
  /** What the service would warn of; the event is recorded all the same. */
  warnings: WarningCode[];
}

type Judgement =
  | { event: CapturedEvent; refusal?: never }
  | { refusal: Required<EventRefusal>; event?: never };

export interface JudgeContext {
  /** The service's; the default one unless given. */
  catalogue?: Catalogue;
  nowMs: number;
  /** Null: a credential of the platform. Undefined: not known, and every tenant will do. */
  boundTenantId: string | null | undefined;
}

const service = {
  newUuid: (timeMs: number) => eventUuid(timeMs, crypto.getRandomValues(new Uint8Array(10))),
  catalogue: defaultCatalogue,
  masker: createMasker(defaultMaskedKeys),
  recordedBy: { kind: 'api_key', id: nilUuid },
} as const;

/**
 * Judges an event by the service's own code and catalogue, without further masked keys. Left out is
 * what takes its database: unknown tenants, retention, an id that is taken.
 */
export function judgeEvent(sent: unknown, context: JudgeContext): Judgement {
  // What goes over the wire: dates are texts, and members that are undefined are not there.
  const input: unknown = JSON.parse(JSON.stringify(sent) ?? 'null');
  const { event, warnings, refusal } = {
    warnings: [],
    ...takeEvent(input, { ...service, ...context }),
  };
  if (refusal) {
    const { code, detail, errors = [] } = refusal;
    const lines = errors.map((each) => `${each.path} ${each.message} (${each.code})`);
    return { refusal: { code, detail: lines.join('; ') || detail, errors } };
  }
  const hasState = event.before !== null || event.after !== null;
  const text = eventText({ ...event, sequence: 0, receivedAtMs: 0 }, true, hasState);
  const { sequence: _, receivedAt: __, recordedBy: ___, ...shown } = JSON.parse(text);
  return { event: { ...shown, tenantId: event.tenantId || null, warnings } };
}
