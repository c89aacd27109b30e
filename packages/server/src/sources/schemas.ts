import { Type } from 'typebox';
import { operatorHeaders } from '../access/index.ts';
import { nullable, strict, time } from '../http/index.ts';

const sequence = (description: string) => Type.Integer({ minimum: 0, description });

export const SourceGap = Type.Object(
  {
    from: sequence('The first number that was not received.'),
    to: sequence('The last one.'),
    afterReceivedAt: time(
      'When the last event before the gap was received; without one as `noticedAt`.',
    ),
    noticedAt: time('When the first event behind it was received.'),
  },
  {
    ...strict,
    title: 'SourceGap',
    description: 'Numbers that the source has given to events which were not received.',
  },
);

const Source = Type.Object(
  {
    id: Type.String({ description: 'The `source.id` of its events.' }),
    lastSequence: sequence('The highest number received.'),
    firstReceivedAt: time('When its first event was received.'),
    lastReceivedAt: time('When its last event was received.'),
    gaps: Type.Array(SourceGap, {
      maxItems: 50,
      description: 'What is missing now. An event that comes late leaves no gap.',
    }),
    gapsDroppedAt: nullable({
      format: 'date-time',
      description:
        'The list of gaps is not complete: then the last older gap was noticed that is no longer ' +
        'listed, or a number that had come before.',
    }),
    silent: Type.Boolean({
      description: 'Whether it sends no more, and no other instance of it does.',
    }),
  },
  { ...strict, title: 'Source', description: 'A recorder or outbox that numbers its events.' },
);

export const listSchema = {
  tags: ['Events'],
  operationId: 'listSources',
  summary: 'Sources of events, and what was not received from them',
  description:
    'The recorders and outboxes that number their events with `source`, sorted by id; at most 500. ' +
    'Producers that number nothing are not among them.',
  headers: operatorHeaders,
  response: {
    200: Type.Object(
      { data: Type.Array(Source, { maxItems: 500 }) },
      { ...strict, title: 'SourceList', description: 'All sources.' },
    ),
  },
};
