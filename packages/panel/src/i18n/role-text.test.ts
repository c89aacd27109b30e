import { expect, test } from 'vitest';
import en from '../../../../locales/en.json' with { type: 'json' };
import { roleText } from './texts.tsx';

test("no view shows another role as the operator team's, and each role has its own characters", () => {
  const { roles } = en.panel.actors;
  const alike = [
    'superadmin',
    'Superadmin',
    'SUPERADMIN',
    'super_admin',
    'Super Admin',
    'Operator',
  ];
  expect(alike.map((role) => roleText(roles, role))).toEqual(alike);
  expect(roleText(roles, 'super\u200badmin')).toBe('super⟨U+200B⟩admin');
  expect(roleText(roles, 'api_key')).toBe('API key');
});
