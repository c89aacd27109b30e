import { isObject } from '../json/strict-json.ts';
import { fieldProblemsMax, pointerOf } from './field-problem.ts';
import { cutBytes, cutText, exceedsBytes, isLonger, isPrintable } from './field-rules.ts';
import {
  asSentLengthMax,
  asSentPathsMax,
  diffFieldsMax,
  diffTextBytesMax,
  membersMax,
  metadataKeyLengthMax,
  metadataKeysMax,
  metadataTextLengthMax,
} from './limits.ts';
import type { Notes } from './notes.ts';
import type { Take } from './usable-text.ts';

/* Takes the objects of an event whose names the producer chooses. */

type Members = Record<string, unknown>;

const scalarType = 'must be a text, number, boolean or null';
const isScalar = (value: unknown) => typeof value !== 'object' || value === null;

export const takeMetadata: Take = (value, notes) => {
  const path = pointerOf('metadata');
  if (!isObject(value)) {
    notes.refuse(path, 'invalid_type', 'must be an object');
    return undefined;
  }
  const entries = Object.entries(value);
  if (entries.length > metadataKeysMax) notes.warn('truncated', path);
  const taken = new Map<string, unknown>();
  for (const [name, scalar] of entries.slice(0, metadataKeysMax)) {
    takeEntry(name, scalar, taken, notes);
  }
  return Object.fromEntries(taken);
};

function takeEntry(name: string, scalar: unknown, taken: Map<string, unknown>, notes: Notes) {
  const key = isLonger(name, metadataKeyLengthMax) ? cutText(name, metadataKeyLengthMax) : name;
  const path = pointerOf('metadata', key);
  if (!isScalar(scalar)) {
    notes.refuse(path, 'invalid_type', scalarType);
  } else if (key === '' || !isPrintable(key) || taken.has(key)) {
    notes.dropped(path, `${name}: ${String(scalar)}`);
  } else {
    if (key !== name) notes.cut(path, name, key);
    taken.set(key, takeText(scalar, path, notes));
  }
}

function takeText(scalar: unknown, path: string, notes: Notes): unknown {
  if (typeof scalar !== 'string' || !isLonger(scalar, metadataTextLengthMax)) return scalar;
  const kept = cutText(scalar, metadataTextLengthMax);
  notes.cut(path, scalar, kept);
  return kept;
}

/** Texts as an exported event has them. */
export const takeAsSent: Take = (value, notes) => {
  const path = pointerOf('asSent');
  if (!isObject(value)) {
    notes.refuse(path, 'invalid_type', 'must be an object');
    return undefined;
  }
  const entries = Object.entries(value).slice(0, asSentPathsMax);
  for (const [name, text] of entries) {
    if (typeof text !== 'string') {
      notes.refuse(path + pointerOf(name), 'invalid_type', 'must be a text');
    }
  }
  if (notes.problems.length > 0) return undefined;
  const texts = entries.map(([name, text]) => [name, cutText(String(text), asSentLengthMax)]);
  notes.keepAsSent(Object.fromEntries(texts));
  return undefined;
};

export const takeDiff: Take = (diff, notes) => {
  if (!isObject(diff)) {
    notes.refuse('/diff', 'invalid_type', 'must be an object');
    return undefined;
  }
  const fields = Object.keys(diff);
  if (fields.length > diffFieldsMax) notes.warn('diff_truncated', '/diff');
  let copy: Members | undefined = fields.length > diffFieldsMax ? {} : undefined;
  for (const field of fields.slice(0, diffFieldsMax)) {
    if (notes.problems.length >= fieldProblemsMax) break;
    const change = takeChange(field, diff[field], notes);
    if (change === diff[field] && copy === undefined) continue;
    copy ??= { ...diff };
    // Assigning `__proto__` would set the prototype.
    const [enumerable, configurable, writable] = [true, true, true];
    Object.defineProperty(copy, field, { value: change, enumerable, configurable, writable });
  }
  return copy ?? diff;
};

function takeChange(field: string, change: unknown, notes: Notes): unknown {
  if (!isObject(change)) {
    notes.refuse(pointerOf('diff', field), 'invalid_type', 'must be an object');
    return change;
  }
  const names = Object.keys(change);
  // The usual case, two short values: skips building their paths.
  if (names.length === 2 && isPlainSide(change.from) && isPlainSide(change.to)) return change;
  const at = pointerOf('diff', field);
  if (names.length > membersMax) {
    notes.refuse(at, 'too_many', `has more than ${membersMax} members`);
    return change;
  }
  for (const name of ['from', 'to'] as const) {
    if (change[name] === undefined) notes.refuse(at + pointerOf(name), 'required', 'is required');
  }
  for (const name of names) {
    if (name !== 'from' && name !== 'to') {
      notes.refuse(at + pointerOf(name), 'unknown_field', 'is not a field of this object');
    }
  }
  return {
    from: takeSide(at + pointerOf('from'), change.from, notes),
    to: takeSide(at + pointerOf('to'), change.to, notes),
  };
}

const isPlainSide = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.length * 3 <= diffTextBytesMax
    : value === null || typeof value === 'number' || typeof value === 'boolean';

function takeSide(path: string, value: unknown, notes: Notes): unknown {
  if (!isScalar(value)) notes.refuse(path, 'invalid_type', scalarType);
  if (typeof value !== 'string' || !exceedsBytes(value, diffTextBytesMax)) return value;
  const kept = cutBytes(value, diffTextBytesMax);
  notes.cut(path, value, kept);
  return kept;
}
