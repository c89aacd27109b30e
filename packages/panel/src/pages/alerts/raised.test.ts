import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { raisedAlerts } from './raised.ts';

test('an event of a producer neither is an alert nor acknowledges one', () => {
  const event = (id: string, kind: 'service' | 'api_key', correlationId?: string) =>
    ({ id, recordedBy: { kind, id: 'x' }, correlationId }) as AuditEvent;
  const [first, second] = [event('a', 'service'), event('b', 'service')];
  const seen = [event('c', 'api_key', 'a'), event('d', 'service', 'b')];
  expect(raisedAlerts([first, event('e', 'api_key'), second], seen)).toEqual([
    { event: first, acknowledged: undefined },
    { event: second, acknowledged: seen[1] },
  ]);
});
