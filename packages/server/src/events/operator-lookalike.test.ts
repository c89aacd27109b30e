import { expect, test } from 'vitest';
import { eventOf, testService } from '../testing/service.ts';
import { looksLikeOperator } from './operator-lookalike.ts';

test.each([
  ['capitals', 'SuperAdmin'],
  ['all capitals', 'SUPERADMIN'],
  ['Cyrillic letters', 'ѕuреrаdmіn'],
  ['a Cyrillic m', 'superadмin'],
  ['full-width letters', 'ｓｕｐｅｒａｄｍｉｎ'],
  ['mathematical letters', '𝐬𝐮𝐩𝐞𝐫𝐚𝐝𝐦𝐢𝐧'],
  ['small capitals', 'ꜱᴜᴘᴇʀᴀᴅᴍɪɴ'],
  ['letters in circles', '🅢🅤🅟🅔🅡🅐🅓🅜🅘🅝'],
  ['letters of flags', '🇸🇺🇵🇪🇷🇦🇩🇲🇮🇳'],
  ['an accent', 'superadmín'],
  ['r and n for m', 'superadrnin'],
  ['a digit', 'superadm1n'],
  ['a dotless i', 'superadmın'],
  ['a zero-width space', 'super\u200badmin'],
  ['a variation selector', 'superadmin\ufe0f'],
  ['a tag', 'super\u{e0061}admin'],
  ['a combining grapheme joiner', 'super\u034fadmin'],
  ['an underscore', 'super_admin'],
  ['a hyphen', 'super-admin'],
  ['a space', 'Super Admin'],
  ['a no-break hyphen between Cyrillic letters', 'ѕuреr\u2011аdmіn'],
  ['separators around it', '[super.admin]'],
  ['a separator within rn for m', 'superad r-nin'],
  ['digits for letters', '5up3r4dm1n'],
])('a role with %s reads like that of operators', (_, role) => {
  expect(looksLikeOperator(role)).toBe(true);
});

test.each([
  ...['superadmin', 'admin', 'supervisor', 'super_admin_of_sales', 'superadmin_assistant'],
  ...['superadmin2', 'administrador', 'суперадмин', '管理者', 'api_key'],
])('%s is a role like any other', (role) => {
  expect(looksLikeOperator(role)).toBe(false);
});

test('an event of such a role is refused with a sentence; that of an operator is not', async () => {
  const service = await testService();
  try {
    const { key } = await service.tenant();
    const record = (role: string) => {
      const body = eventOf({ actor: { ...(eventOf().actor as object), role }, reason: 'Ticket 1' });
      return service.call({ method: 'POST', url: '/api/audit-logs', key, body });
    };
    const { status, body } = await record('SuperAdmin');
    expect([status, body.code, body.errors]).toEqual([
      422,
      'validation_failed',
      [
        {
          path: '/actor/role',
          code: 'invalid_format',
          message:
            'reads like superadmin, the role of operators: write exactly that, or another word',
        },
      ],
    ]);
    const onBehalfOf = [
      { externalId: 'ana', role: 'admin' },
      { externalId: 'olga', role: 'Super Admin' },
    ];
    const told = await service.call({
      ...{ method: 'POST', url: '/api/audit-logs', key },
      body: { ...eventOf(), onBehalfOf },
    });
    expect(told.body.errors?.map(({ path }: { path: string }) => path)).toEqual([
      '/onBehalfOf/1/role',
    ]);
    expect((await record('superadmin')).body.crossTenant).toBe(true);
  } finally {
    await service.close();
  }
});
