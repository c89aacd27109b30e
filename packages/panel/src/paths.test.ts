import { expect, test } from 'vitest';
import { paths } from './paths.ts';
import { emptySearch } from './search/event-search.ts';

test('an address carries the search it belongs to', () => {
  const search = { ...emptySearch, facets: { action: { any: ['delete'], none: ['update'] } } };
  expect(paths.events(search)).toBe('/settings/audit/events?action=delete&action=%21update');
  expect(paths.event('evt_audit_1', search)).toContain('/events/evt_audit_1?action=delete');
  expect(paths.webhook('whk_1', '7')).toBe('/settings/audit/webhooks/whk_1?replay=7');
  expect(paths.versions('r', { left: 'a:before' })).toBe(
    '/settings/audit/resources/r?left=a%3Abefore',
  );
});
