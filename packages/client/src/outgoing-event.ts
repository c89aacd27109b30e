import {
  createMasker,
  type Diff,
  defaultMaskedKeys,
  diffStates,
  type JsonValue,
  type Masker,
  parseTimestamp,
} from '@indelible/protocol';
import type { EventInput, State } from './api-types.ts';
import { newEventId } from './event-id.ts';
import { plainJson } from './plain-json.ts';

/** An event as it leaves this process: with an id, and without secrets. */
export type OutgoingEvent = EventInput & { id: string };

export interface OutgoingOptions {
  /** Of events that name no tenant themselves. */
  tenantId?: string | undefined;
  /** Further key names whose values are masked; the service's own names always are. */
  maskedKeys?: readonly string[] | undefined;
}

/**
 * Makes events ready to leave: each gets an id, so that sending it twice records it once, and the
 * values of secret keys in `diff`, `before` and `after` become `"[masked]"`. What it returns shares no
 * object with the event that was given, which may change afterwards. It throws TypeError for values
 * that JSON does not have; everything else is left to the service to judge.
 */
export function createOutgoing({ tenantId, maskedKeys = [] }: OutgoingOptions = {}) {
  const masker = createMasker([...defaultMaskedKeys, ...maskedKeys]);
  return (event: EventInput): OutgoingEvent => {
    const owner = event.tenantId ?? tenantId;
    return {
      ...event,
      id: event.id ?? newEventId(timeOf(event)),
      ...(owner === undefined ? {} : { tenantId: owner }),
      actor: { ...event.actor },
      resource: { ...event.resource },
      ...maskedChanges(event, masker),
    };
  };
}

// A timestamp that nobody can read is refused by the service, whatever the id says.
function timeOf({ timestamp }: EventInput): number {
  return (timestamp === undefined ? null : parseTimestamp(timestamp)) ?? Date.now();
}

function maskedChanges(event: EventInput, masker: Masker): Pick<EventInput, 'diff'> {
  const { diff, before, after } = event;
  if (diff === undefined && before === undefined && after === undefined) return {};
  const states = { before: plainJson(before), after: plainJson(after) };
  const masked = { before: masker.maskState(states.before), after: masker.maskState(states.after) };
  const hidesChange = diff === undefined && (masked.before.masked || masked.after.masked);
  // Two masked secrets look equal to the service: that one of them changed can be told only here.
  const changes = hidesChange
    ? diffStates(objectOrNull(states.before), objectOrNull(states.after)).diff
    : diff;
  return {
    ...(changes === undefined ? {} : { diff: maskedDiff(plainJson(changes), masker) }),
    ...(before === undefined ? {} : { before: masked.before.value as State | null }),
    ...(after === undefined ? {} : { after: masked.after.value as State | null }),
  };
}

/** Whatever is no diff is masked as a state: the service refuses it, and must not learn secrets by it. */
function maskedDiff(diff: JsonValue, masker: Masker): Diff {
  const isDiff = isObject(diff) && Object.values(diff).every(isChange);
  const masked = isDiff ? masker.maskDiff(diff as Diff).diff : masker.maskState(diff).value;
  return masked as Diff;
}

/** `{from, to}` of scalars: in anything else there may be further keys, with secrets under them. */
const isChange = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, side]) =>
      (name === 'from' || name === 'to') && (side === null || typeof side !== 'object'),
  );

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOrNull = (value: JsonValue) => (isObject(value) ? value : null);
