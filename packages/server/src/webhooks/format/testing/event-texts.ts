import {
  canonicalize,
  contextTexts,
  type EventContext,
  firstUuidAt,
  type JsonValue,
  nilUuid,
} from '@indelible/protocol';
import { eventArbitrary } from '@indelible/testing/arbitraries';
import { eventOf } from '@indelible/testing/service';
import fc from 'fast-check';
import { eventJson } from '../../../events/prepared-event.ts';
import type { EventFields } from '../event-parts.ts';

export const tenantId = '019a1c2e-0d3b-7f44-9a51-2b7c8d9e0f13';
export const panelUrl = 'https://audit.example.com/settings/audit';
/** The time of the first event. */
export const startMs = Date.UTC(2025, 8, 11, 8, 30, 0, 7);

interface Content extends Pick<EventFields, 'actor' | 'action' | 'resource' | 'reason'> {
  diff: unknown;
  category?: string;
  /** Fields of entry version 2. */
  context?: EventContext;
}

const plain = { reason: null, ...eventOf() } as unknown as Content;

/** The text of an event as in the list; `sequence` seconds after the start. */
export function eventText(sequence: number, changes: Partial<Content> = {}): string {
  const { actor, action, resource, diff, reason, category, context } = { ...plain, ...changes };
  const ms = startMs + sequence * 1_000;
  const uuid = firstUuidAt(ms);
  return eventJson(
    {
      uuid,
      tenantId,
      actorId: actor.id,
      actorEmail: actor.email,
      actorRole: actor.role,
      actorIp: actor.ip,
      actorUserAgent: actor.userAgent,
      action,
      resourceType: resource.type,
      resourceId: resource.id,
      resourceName: resource.name,
      diff: canonicalize(diff as JsonValue),
      crossTenant: false,
      reason,
      before: null,
      after: null,
      ...contextTexts(context ?? {}),
      category: category ?? 'configuration',
      recordedByKind: 'api_key',
      recordedById: plain.actor.id,
      sequence,
      receivedAtMs: ms + 20,
    },
    false,
    false,
  );
}

/** An assistant that was not allowed to act for a person. */
export const deniedAgent: Partial<Content> = {
  actor: { ...plain.actor, email: null },
  context: {
    actor: { type: 'agent', name: 'Planner' },
    outcome: 'denied',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    onBehalfOf: [{ id: plain.resource.id, email: 'ana@example.com', name: 'Ana' }],
    metadata: { '"}]': '{"diff":', plan: 3 },
  },
};

/** Everything with which a text could become a link, a mention or another line of a chat. */
export const hostile = [
  '<!channel> <@U012AB3CD> <https://evil.example|Open> &lt;b&gt; @everyone evil.example/login',
  '[Open](https://evil.example) <at>Ana</at> www.evil.example **x** `y` evil。example mailto:eve@evil.example',
  'Ana\r\n> resolved\u2028\u202e ftp://evil.example/x',
].join(' ');

/** A change whose every text is hostile. */
export const hostileEvent: Partial<Content> = {
  actor: { ...plain.actor, email: null, role: hostile },
  resource: { ...plain.resource, name: hostile },
  reason: hostile,
  context: { actor: { type: 'user', name: hostile } },
};

/** An alert of the rule `rule`. */
export const alertOf = (rule: string): Partial<Content> => ({
  actor: { id: nilUuid, email: null, role: 'system', ip: null, userAgent: null },
  action: 'raise',
  resource: { type: 'alert', id: plain.resource.id, name: rule },
  diff: {},
});

/** Up to five arbitrary events, oldest first. */
export const eventTextsArbitrary = fc
  .array(eventArbitrary, { minLength: 1, maxLength: 5 })
  .map((events) => events.map((event, sequence) => eventText(sequence, event as Content)));

/** A change of the maximum number of fields, near the largest event. */
export const hugeDiff = Object.fromEntries(
  Array.from({ length: 500 }, (_, n) => [
    `field ${n} "}]`,
    { from: '😀\u2028'.repeat(80), to: `"diff":{${n}}` },
  ]),
);

export const batchOf = (events: readonly string[], nowMs = startMs + 60_000) => {
  return {
    tenantId,
    events,
    panelUrl,
    atMs: nowMs,
    nowMs,
  };
};

/** What a receiver must hold of these texts. */
export const parsed = (texts: readonly string[]) => texts.map((text): unknown => JSON.parse(text));
