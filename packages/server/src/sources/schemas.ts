import { operatorHeaders } from '../access/operator-access.ts';
import { count, described, time, timeOrNull, uuid } from '../http/field-schemas.ts';
import { Type } from '../http/type.ts';

export const SourceGap = described(
  'SourceGap',
  'Numbers that the source has given to events which were not received.',
  {
    from: count('The first number that was not received.'),
    to: count('The last one.'),
    afterReceivedAt: time(
      'When the last event before the gap was received; without one as `noticedAt`.',
    ),
    noticedAt: time('When the first event behind it was received.'),
  },
);

const Source = described('Source', 'A recorder or outbox that numbers its events.', {
  id: Type.String({ description: 'The `source.id` of its events.' }),
  keyId: uuid(
    'The API key that sends it, as `recordedBy.id`. What another key sends under this id is ' +
      'another source.',
  ),
  lastSequence: count('The highest number received.'),
  firstReceivedAt: time('When its first event was received.'),
  lastReceivedAt: time('When its last event was received.'),
  gaps: Type.Array(SourceGap, {
    maxItems: 50,
    description: 'What is missing now. An event that comes late leaves no gap.',
  }),
  gapsDroppedAt: timeOrNull(
    'The list of gaps is not complete: then the last older gap was noticed that is no longer ' +
      'listed, or a number that had come before.',
  ),
  silent: Type.Boolean({
    description: 'Whether it sends no more, and no other instance of it with this key.',
  }),
});

export const listSchema = {
  tags: ['Events'],
  operationId: 'listSources',
  summary: 'Sources of events, and what was not received from them',
  description:
    'The recorders and outboxes that number their events with `source`, sorted by id; at most 500 ' +
    'of each API key. ' +
    'Producers that number nothing are not among them.',
  headers: operatorHeaders,
  response: {
    200: described('SourceList', 'All sources.', { data: Type.Array(Source) }),
  },
};
