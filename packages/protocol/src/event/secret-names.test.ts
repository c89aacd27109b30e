import { expect, test } from 'vitest';
import { createMasker } from './masking.ts';

const masker = createMasker();

/** What a value becomes under a name: in a state, in metadata's form, and as a field of a diff. */
function shown(name: string, value: string | number | boolean | null) {
  const state = masker.maskState({ [name]: value }).value as Record<string, unknown>;
  const { diff } = masker.maskDiff({ [name]: { from: null, to: value } });
  return [name, state[name], diff[name]?.to];
}

test.each([
  [
    'in English',
    'password_confirmation passwordConfirmation passwordRepeat new_password_repeat password_digest ' +
      'password_salt tokenHash access_token_encrypted secret_key_base user[password] password[0] ' +
      'settings[smtp][password] smtpPass psk wifiPsk sshKey backup_codes security_answer cvv2 pinCode ' +
      'database[0].credentials.user clientSecretOld X-Api-Key-Previous required.password',
  ],
  ['in Spanish', 'contraseña nuevaContraseña contrasena_hash clave_de_acceso numeroDeTarjeta'],
  ['in Portuguese', 'senha novaSenha SENHA_ANTIGA palavra-passe chave_api código_de_segurança'],
  ['in German', 'passwort neuesPasswort PasswörterAlt kennwort_hash Zugangsdaten api_schlüssel'],
  ['in French', 'motDePasse mot_de_passe_confirmation nouveau-mdp clé_api réponse_secrète'],
])('a word of secrets %s hides a value anywhere in a name', (_language, names) => {
  for (const name of [...names.split(' '), 'Password (new)', '"password"']) {
    expect(shown(name, 's3cret')).toEqual([name, '[masked]', '[masked]']);
  }
});

test.each([
  'passwordPolicy password_policy_min_length passwordRequired requirePin hasPassword showPassword',
  'usesCookies mapPin map_pin headspin spin pinColor passwordChangedAt tokenType token_id apiKeyName',
  'secretsManager policies[0].minLength políticaContraseña senhaObrigatoria passwortrichtlinie',
  'members[carl].role desenha secretaria maxTokens requisition cookieConsent otpMethod nextToken',
])('the rules, kinds and times of secrets are shown: %s', (names) => {
  for (const name of names.split(' ')) expect(shown(name, 'x')).toEqual([name, 'x', 'x']);
});

test('a name of secrets hides numbers and texts, but neither booleans nor null', () => {
  for (const name of ['otp', 'requirePin', 'password', 'forceOverwriteSecret', 'twoFactor.token']) {
    for (const value of [true, false, null])
      expect(shown(name, value)).toEqual([name, value, value]);
  }
  expect(shown('pin', 4711)).toEqual(['pin', '[masked]', '[masked]']);
  expect(shown('tokens', 4096)).toEqual(['tokens', 4096, 4096]);
  const change = { otp: { from: true, to: false }, secret: { from: true, to: 'hunter2' } };
  expect(masker.maskDiff(change).diff).toEqual({
    otp: { from: true, to: false },
    secret: { from: true, to: '[masked]' },
  });
});

test('a name that speaks of a policy hides the secret beside it, not the policy', () => {
  const state = { passwordPolicy: { minLength: 8, password: 'hunter2' }, policyToken: 'hunter2' };
  expect(masker.maskState(state).value).toEqual({
    passwordPolicy: { minLength: 8, password: '[masked]' },
    policyToken: '[masked]',
  });
});
