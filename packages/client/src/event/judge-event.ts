import {
  type Category,
  createMasker,
  defaultCatalogue,
  type EventContext,
  type EventRefusal,
  eventText,
  eventUuid,
  nilUuid,
  type TakeContext,
  takeEvent,
  type WarningCode,
  type WarningPaths,
} from '@indelible/protocol';
import type { AuditEvent, State } from '../api-types.ts';
import { plainJson } from './plain-json.ts';

/** An event as the service would show it, without what only its log knows. */
export interface CapturedEvent
  extends Pick<AuditEvent, 'id' | 'timestamp' | 'actor' | 'action' | 'resource' | 'diff'>,
    Omit<EventContext, 'actor' | 'resource'> {
  /** Null if neither event nor capture names a tenant. */
  tenantId: string | null;
  crossTenant: boolean;
  reason: string | null;
  category: Category;
  hasState: boolean;
  before: State | null;
  after: State | null;
  /** The service's warnings; an event with warnings is recorded. */
  warnings: WarningCode[];
  /** By the code of each warning: JSON Pointers to what it is about. */
  warningPaths: WarningPaths;
}

type Judgement =
  | { event: CapturedEvent; refusal?: never }
  | { refusal: Required<EventRefusal>; event?: never };

/** Without the service's catalogue, the default catalogue. */
export type JudgeContext = Pick<TakeContext, 'nowMs' | 'boundTenantId'> &
  Partial<Pick<TakeContext, 'catalogue'>>;

const service = {
  newUuid: (timeMs: number) => eventUuid(timeMs, crypto.getRandomValues(new Uint8Array(10))),
  catalogue: defaultCatalogue,
  masker: createMasker(),
  recordedBy: { kind: 'api_key', id: nilUuid },
} as const;

/**
 * Checks an event with the service's own code and catalogue, without additional masked keys. It
 * cannot check what needs the database: unknown tenants, retention, used ids.
 */
export function judgeEvent(sent: unknown, context: JudgeContext): Judgement {
  const taken = takeEvent(plainJson(sent), { ...service, ...context });
  if (taken.refusal) {
    const { code, detail, errors = [] } = taken.refusal;
    return { refusal: { code, detail, errors } };
  }
  const { event, warnings, warningPaths } = taken;
  const hasState = event.before !== null || event.after !== null;
  const text = eventText({ ...event, sequence: 0, receivedAtMs: 0 }, true, hasState);
  const { sequence: _, receivedAt: __, recordedBy: ___, ...shown } = JSON.parse(text);
  return { event: { ...shown, tenantId: event.tenantId || null, warnings, warningPaths } };
}
