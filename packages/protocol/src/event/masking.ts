import type { JsonObject, JsonValue } from '../json/canonical.ts';
import { type Hides, hides, secretNames } from './secret-names.ts';
import { isSecretText } from './secret-texts.ts';
import { type Diff, diffStates, maskText, type Scalar, type StateDiff } from './state-diff.ts';

/** Members that name the content of `value` beside them: `{name: "Authorization", value}`. */
const namingKeys = ['name', 'key', 'header', 'Name', 'Key', 'Header'] as const;
const namedKey = /^values?$/i;

/** What an event changes: the `value` of a secret is secret, by the resource's type or name. */
interface Owner {
  type?: unknown;
  name?: unknown;
}

export type Masker = ReturnType<typeof createMasker>;

/**
 * Replaces secrets by `"[masked]"`; `null` stays. What a name hides is in `secretNames`,
 * `ownNames` are further ones. A diff field is named by its whole path: a field below a secret
 * (`password.hash`) is masked too. Texts are masked whole, see `isSecretText`. Only for values that
 * `checkJson` has accepted: their depth bounds the recursion.
 */
export function createMasker(ownNames: readonly string[] = []) {
  const hiddenBy = secretNames(ownNames);
  const isSecret = (name: unknown) => typeof name === 'string' && hiddenBy(name) >= hides.values;
  const hidesValue = ({ type, name }: Owner) => isSecret(type) || isSecret(name);
  const mask = (value: JsonValue, owner: Owner, replace: Hiding['replace']) =>
    maskNode(value, '', { hiddenBy, isSecret, replace, hidesValue: hidesValue(owner) });
  const fields = (diff: Diff, owner: Owner) =>
    maskFields(diff, { hiddenBy, isSecret, replace: masked, hidesValue: hidesValue(owner) });
  return {
    /** Masks the value of every secret key at any depth; the same object if there is none. */
    maskState(value: JsonValue, owner: Owner = {}) {
      const result = mask(value, owner, masked);
      return { value: result, masked: result !== value };
    },
    /** Masks `from` and `to` of every secret field; the same object if there is none. */
    maskDiff(diff: Diff, owner: Owner = {}) {
      const result = fields(diff, owner);
      return { diff: result, masked: result !== diff };
    },
    /** The diff of two states, without what `maskState` hides; a changed secret is in it. */
    diffStates(before: JsonObject | null, after: JsonObject | null, owner: Owner = {}): StateDiff {
      const replace = marker();
      const [from, to] = [before, after].map((state) => mask(state, owner, replace) as object);
      const { diff, truncated } = diffStates(from ?? null, to ?? null);
      return { diff: fields(diff, owner), truncated };
    },
  };
}

/** What is secret, and what replaces it. */
interface Hiding {
  hiddenBy: (name: string) => Hides;
  isSecret: (name: unknown) => boolean;
  replace: (value: JsonValue) => Scalar;
  /** Whether a member `value` is secret at any depth. */
  hidesValue: boolean;
}

const masked = (value: JsonValue): Scalar => (value === null ? null : maskText);

/**
 * Masks, with another number for another secret; `diffStates` shows the mask alone. The secret
 * itself could get into the path of an element.
 */
function marker(): Hiding['replace'] {
  const numbers = new Map<string, number>();
  return (value) => {
    if (value === null) return null;
    const text = JSON.stringify(value);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return `${maskText}\0${number}`;
  };
}

/** Whether a name that hides this much hides this value. */
function isHidden(how: Hides, value: JsonValue): boolean {
  if (how === hides.texts) return Array.isArray(value) ? value.some(isText) : isText(value);
  return how === hides.everything || (how === hides.values && typeof value !== 'boolean');
}

const isText = (value: JsonValue) => typeof value === 'string';

function maskNode(value: JsonValue, name: string, hiding: Hiding): JsonValue {
  if (typeof value === 'string')
    return isSecretText(value, hiding.hiddenBy) ? hiding.replace(value) : value;
  if (value === null || typeof value !== 'object') return value;
  return Array.isArray(value) ? maskElements(value, hiding) : maskMembers(value, name, hiding);
}

function maskElements(list: JsonValue[], hiding: Hiding): JsonValue[] {
  let copy: JsonValue[] | undefined;
  list.forEach((element, index) => {
    const result = maskNode(element, '', hiding);
    if (result === element) return;
    copy ??= [...list];
    copy[index] = result;
  });
  return copy ?? list;
}

/** `name` is that of the object: with it, `key` of `{api: {key}}` is a secret, as `api.key` is. */
function maskMembers(object: JsonObject, name: string, hiding: Hiding): JsonObject {
  let copy: JsonObject | undefined;
  const isPair = hiding.hidesValue || namingKeys.some((key) => hiding.isSecret(object[key]));
  for (const key of Object.keys(object)) {
    const member = object[key] as JsonValue;
    const ofName = hiding.hiddenBy(name === '' ? key : `${name}.${key}`);
    const how = isPair && namedKey.test(key) ? Math.max(ofName, hides.values) : ofName;
    const isSecret = isHidden(how as Hides, member);
    const result = isSecret ? hiding.replace(member) : maskNode(member, key, hiding);
    if (result === member) continue;
    // The copy already has every key as its own member, so assigning `__proto__` sets plain data.
    copy ??= { ...object };
    copy[key] = result;
  }
  return copy ?? object;
}

function maskFields(diff: Diff, hiding: Hiding): Diff {
  let copy: Diff | undefined;
  for (const [path, { from, to }] of Object.entries(diff)) {
    const hide = (side: Scalar) => {
      const ofPath = hiding.hiddenBy(namesOf(path, side));
      const how = isSecretValue(diff, path, hiding) ? Math.max(ofPath, hides.values) : ofPath;
      return isHidden(how as Hides, side) ? masked(side) : (maskNode(side, '', hiding) as Scalar);
    };
    const [was, is] = [hide(from), hide(to)];
    if (was === from && is === to) continue;
    copy ??= { ...diff };
    copy[path] = { from: was, to: is };
  }
  return copy ?? diff;
}

/**
 * The names in a path. What tells an element of a list names only the `value` in it, and is shown
 * itself: `scopes[read_secrets]` from null to `read_secrets`.
 */
function namesOf(path: string, side: Scalar): string {
  const labels = [`[${side}]`, `[${JSON.stringify(side)}]`];
  const own = labels.find((label) => path.endsWith(label)) ?? '';
  const names = path.slice(0, path.length - own.length);
  return names.replace(/\[[^[\]"]*\](?=\.(?!values?(?:[.[]|$)))/gi, '.0');
}

/** Whether a field is the `value` of a secret, or beside a field that names one, now or before. */
function isSecretValue(diff: Diff, path: string, { isSecret, hidesValue }: Hiding): boolean {
  if (hidesValue && /(?:^|[.\]])values?(?:[.[]|$)/i.test(path)) return true;
  const group = /(?:^|\.)values?$/i.exec(path);
  if (!group) return false;
  const prefix = path.slice(0, group.index + (group[0].startsWith('.') ? 1 : 0));
  return namingKeys.some((key) => {
    const { from = null, to = null } = diff[prefix + key] ?? {};
    return isSecret(from) || isSecret(to);
  });
}
