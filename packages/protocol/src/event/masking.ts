import { folded } from '../filter/folded.ts';
import type { JsonObject, JsonValue } from '../json/canonical.ts';
import { type Diff, diffStates, maskText, type Scalar, type StateDiff } from './state-diff.ts';

/**
 * Key names whose values are never stored; configuration adds more. A longer key that ends with one
 * of them (`clientSecret`, `refreshToken`) also matches: see `createMasker`.
 */
export const defaultMaskedKeys: readonly string[] = (
  'password passwords passwordHash passwd pwd passphrase passcode pin secret secrets secretKey ' +
  'secretValue token tokenValue accessTokens refreshTokens bearer jwt sharedKey mnemonic ' +
  'recoveryCode recoveryCodes apiKey apiKeys accessKey privateKey privateKeyPem encryptionKey ' +
  'signingKey credential credentials authorization cookie cookies connectionString otp ' +
  'cardNumber cvc cvv'
).split(' ');

/** Too short to match as endings (`bypass`, `maxTokens`): secret only as whole names of a text. */
const exactKey = /^(pass|auth|tokens)$/i;

/** Members that name the content of `value` beside them: `{name: "Authorization", value}`. */
const namingKeys = ['name', 'key', 'header', 'Name', 'Key', 'Header'] as const;
const namedKey = /^[vV]alue$/;

/**
 * Texts that are secret under any name: a private key in PEM, a JWT, and keys with a published
 * prefix (Stripe, GitHub, GitLab, Slack, OpenAI, Anthropic, AWS, Standard Webhooks, this service).
 */
const secretTexts = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /^(Bearer )?eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*$/,
  /^([sr]k_(live|test)_|gh[opsur]_|github_pat_|glpat-|xox[a-s]-|sk-|whsec_|idl_|AKIA)[\w+/=-]{16}/,
];

/** `auth: "x"` and `tokens: ["x"]` are secrets, `auth: {user, method}` is a group of settings. */
function isSecretText(key: string, value: JsonValue): boolean {
  if (Array.isArray(value)) return exactKey.test(key) && value.some(isText);
  return isText(value) && (exactKey.test(key) || secretTexts.some((text) => text.test(value)));
}

const isText = (value: JsonValue) => typeof value === 'string';

export type Masker = ReturnType<typeof createMasker>;

/**
 * Replaces secrets by `"[masked]"`; `null` stays. Names are compared without case, `_`, `-`, `.`
 * and spaces. A key is secret if it equals or ends with a name, with or without digits after it
 * (`newPassword`, `sip_password2`, but not `tokenizer`). A diff field is secret if its dotted path
 * matches at its end or before a dot: a field below a secret (`password.hash`) is masked too. Only
 * for values that `checkJson` has accepted: their depth bounds the recursion.
 */
export function createMasker(names: readonly string[]) {
  const alternatives = names.map((name) => normalise(name)).filter((name) => name !== '');
  // A key has no dots left, so `$` ends it. In a path, dots may also be part of the name
  // (`api.key`).
  const secret = new RegExp(
    `(?:${alternatives.map(dotsBetween).join('|') || '(?!)'})\\d*(?:\\.|$)`,
    'u',
  );
  const isSecretKey = remember((key) => secret.test(normalise(key)));
  const isSecretField = remember((path) => secret.test(normalise(path, /[_\-\s\u200b]/g)));
  const mask = { isSecret: isSecretKey, replace: masked };
  const mark = { isSecret: isSecretKey, replace: marked };
  const fields = (diff: Diff) => maskFields(diff, isSecretField);
  return {
    /** Masks the value of every matching key at any depth; the same object if there is none. */
    maskState(value: JsonValue) {
      const result = maskNode(value, mask);
      return { value: result, masked: result !== value };
    },
    /** Masks `from` and `to` of every matching field; the same object if there is none. */
    maskDiff(diff: Diff) {
      const result = fields(diff);
      return { diff: result, masked: result !== diff };
    },
    /** The diff of two states, without what `maskState` hides; a changed secret is in it. */
    diffStates(before: JsonObject | null, after: JsonObject | null): StateDiff {
      const [from, to] = [before, after].map((state) => maskNode(state, mark) as object | null);
      const { diff, truncated } = diffStates(from ?? null, to ?? null);
      return { diff: fields(diff), truncated };
    },
  };
}

/** Which keys are secret, and what replaces their values. */
interface Hiding {
  isSecret: (key: string) => boolean;
  replace: (value: JsonValue) => Scalar;
}

const masked = (value: JsonValue): Scalar => (value === null ? null : maskText);

/** Masked, and still another text for another secret; `diffStates` shows the mask alone. */
const marked = (value: JsonValue): Scalar =>
  value === null ? null : `${maskText}\0${JSON.stringify(value)}`;

/** A name in whatever letters, without characters that separate its words or are not seen. */
function normalise(name: string, ignored = /[_\-.\s\u200b]/g): string {
  return folded(name.replace(ignored, ''));
}

/** The pattern of a name with an optional dot between any two characters. */
function dotsBetween(name: string): string {
  return [...name].map((c) => c.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')).join('\\.*');
}

function maskNode(value: JsonValue, hiding: Hiding): JsonValue {
  if (value === null || typeof value !== 'object')
    return isSecretText('', value) ? hiding.replace(value) : value;
  return Array.isArray(value) ? maskElements(value, hiding) : maskMembers(value, hiding);
}

function maskElements(list: JsonValue[], hiding: Hiding): JsonValue[] {
  let copy: JsonValue[] | undefined;
  list.forEach((element, index) => {
    const result = maskNode(element, hiding);
    if (result === element) return;
    copy ??= [...list];
    copy[index] = result;
  });
  return copy ?? list;
}

function maskMembers(object: JsonObject, hiding: Hiding): JsonObject {
  const { isSecret, replace } = hiding;
  let copy: JsonObject | undefined;
  const isPair = namesSecret(object, isSecret);
  for (const key of Object.keys(object)) {
    const member = object[key] as JsonValue;
    const isHidden = isSecret(key) || (isPair && namedKey.test(key)) || isSecretText(key, member);
    const result = isHidden ? replace(member) : maskNode(member, hiding);
    if (result === member) continue;
    // The copy already has every key as its own member, so assigning `__proto__` sets plain data.
    copy ??= { ...object };
    copy[key] = result;
  }
  return copy ?? object;
}

function namesSecret(object: JsonObject, isSecret: (key: string) => boolean): boolean {
  return namingKeys.some((key) => typeof object[key] === 'string' && isSecret(object[key]));
}

function maskFields(diff: Diff, isSecret: (path: string) => boolean): Diff {
  let copy: Diff | undefined;
  for (const [path, { from, to }] of Object.entries(diff)) {
    const last = lastName(path);
    const isHidden = isSecret(path) || isBesideSecret(diff, path, isSecret);
    const hidden = (side: Scalar) => (isHidden || isSecretText(last, side) ? masked(side) : side);
    if (hidden(from) === from && hidden(to) === to) continue;
    copy ??= { ...diff };
    copy[path] = { from: hidden(from), to: hidden(to) };
  }
  return copy ?? diff;
}

/** Of `users.0.tokens.1` it is `tokens`. A pattern would take quadratic time for some paths. */
function lastName(path: string): string {
  for (let end = path.length; ; ) {
    const start = path.lastIndexOf('.', end - 1) + 1;
    const name = path.slice(start, end);
    if (start === 0 || !/^\d+$/.test(name)) return name;
    end = start - 1;
  }
}

/** Whether a field is the `value` beside a field that names a secret, now or before. */
function isBesideSecret(diff: Diff, path: string, isSecret: (path: string) => boolean): boolean {
  if (!/(?:^|\.)[vV]alue$/.test(path)) return false;
  const group = path.slice(0, -'value'.length);
  return namingKeys.some((key) => {
    const { from = null, to = null } = diff[group + key] ?? {};
    return [from, to].some((side) => typeof side === 'string' && isSecret(side));
  });
}

const rememberedMax = 4096;
const rememberedCharactersMax = 128;

/** Caches the decision for each key; limited, because producers choose the keys. */
function remember(decide: (key: string) => boolean): (key: string) => boolean {
  const decisions = new Map<string, boolean>();
  return (key) => {
    const known = decisions.get(key);
    if (known !== undefined) return known;
    const decision = decide(key);
    if (key.length > rememberedCharactersMax) return decision;
    if (decisions.size >= rememberedMax) decisions.clear();
    decisions.set(key, decision);
    return decision;
  };
}
