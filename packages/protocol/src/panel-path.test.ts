import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPanelPath, panelHome, panelPathMax } from './panel-path.ts';

test('a page of the panel with its search and its place is a path', () => {
  for (const path of [
    '/settings/audit',
    panelHome,
    `${panelHome}/evt_audit_01k47h5550fb39eqm1pvbfw85g`,
    `${panelHome}?user=ana%40example.com&action=%21create&from=2026-01-01T00:00Z#row`,
    '/settings/audit/searches/srch_01k47h5550fb39eqm1pvbfw85g',
  ]) {
    expect(isPanelPath(path), path).toBe(true);
  }
});

test('a path that leads elsewhere, or might be read so, is none', () => {
  for (const path of [
    ...['', '/', '/docs', '/settings', '/settings/auditor', '/settings/audit/../../docs'],
    ...['/settings/audit/%2e%2e/%2e%2e/docs', '/settings/audit/./events'],
    ...['//evil.example/settings/audit', '///evil.example/settings/audit'],
    ...['/settings/audit//evil.example', '/\\evil.example/settings/audit'],
    ...['/settings/audit\\..\\..\\docs', 'https://evil.example/settings/audit'],
    ...['javascript:alert(1)', 'settings/audit', ' /settings/audit', '/settings/audit\t/events'],
    ...['/settings/audit/\nevents', '/settings/audit/\0', '/settings/audit/é'],
    ...['/settings/audit/\ud800', '/settings/audit/#\\', '/settings/audit/?q=\\'],
    `${panelHome}?q=${'x'.repeat(panelPathMax)}`,
  ]) {
    expect(isPanelPath(path), JSON.stringify(path)).toBe(false);
  }
});

test('a browser resolves every accepted text to the same origin, below the panel, unchanged', () => {
  const pieces = [
    ...['/', '//', '\\', '..', '.', '%2e', ':', '@', '?', '#', 'a', '\t', '\0', 'é', 'http:'],
  ];
  const piece = fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 }));
  const text = fc
    .tuple(fc.constantFrom('', '/', '/settings/audit', '/settings/audit/'), fc.array(piece))
    .map(([start, rest]) => start + rest.join(''));
  fc.assert(
    fc.property(text, (path) => {
      if (!isPanelPath(path)) return;
      const url = new URL(path, 'https://audit.example.com');
      expect(url.href).toBe(`https://audit.example.com${path}`);
      expect(url.pathname).toMatch(/^\/settings\/audit(\/|$)/);
      expect(path).not.toMatch(/\\|\/\/|[\0-\x20]/);
    }),
  );
});
