import { type JsonValue, pointerOf } from '@indelible/protocol';
import { type EpochForm, timeOf } from './line-times.ts';

type Members = Record<string, JsonValue>;

/** Where a value comes from: a place in the foreign line, or the map itself. */
export type Place =
  | { constant: JsonValue }
  | { path: readonly string[]; lowerCase: boolean; time: EpochForm | null };

export interface MappedField {
  /** The names that lead to it in an event; a number is a position in a list. */
  names: readonly string[];
  form: Form;
  /** The first that has a value gives it. */
  places: readonly Place[];
}

/** What becomes of a value: a text field takes no number, metadata no list. */
export type Form = 'text' | 'scalar' | 'any';

export type LineMap = ReturnType<typeof createLineMap>;

/** Makes events of the lines of another product, see `readMap`. */
export function createLineMap(fields: readonly MappedField[]) {
  const places = fields.flatMap((field) => field.places);
  const pointers = places.flatMap((place) => ('path' in place ? [pointerOf(...place.path)] : []));
  return {
    /** The event of a line, without the fields that have no value there. */
    eventOf: (line: Members): Members => eventOf(fields, line),
    /** Whether an event may hold what stands at this JSON Pointer of a line. */
    reads: (pointer: string) =>
      pointers.some((at) => pointer === at || pointer.startsWith(`${at}/`)),
  };
}

function eventOf(fields: readonly MappedField[], line: Members): Members {
  const event: Members = {};
  const constants: [readonly string[], JsonValue][] = [];
  for (const { names, form, places } of fields) {
    const found = firstPresent(places, line);
    if (found === undefined) continue;
    if (found.isConstant) constants.push([names, found.value]);
    else put(event, names, inForm(found.value, form));
  }
  for (const [names, value] of constants) {
    // A target of which the line says nothing is none.
    const isPart = names.length < 3 || valueAt(event, names.slice(0, 2)) !== undefined;
    if (isPart) put(event, names, value);
  }
  for (const [name, value] of Object.entries(event)) {
    // Positions of which the line says nothing are holes.
    if (Array.isArray(value)) event[name] = value.filter(() => true);
  }
  return event;
}

function inForm(value: JsonValue, form: Form): JsonValue {
  if (form === 'any' || typeof value === 'string') return value;
  if (typeof value === 'object') return JSON.stringify(value);
  return form === 'text' ? String(value) : value;
}

/** Only lists have numbers as names here. */
function put(event: Members, [first = '', second, third]: readonly string[], value: JsonValue) {
  if (second === undefined) event[first] = value;
  else if (third === undefined) within(event, first, {})[second] = value;
  else within(within(event, first, []), second, {})[third] = value;
}

function within(owner: Members, name: string, empty: JsonValue): Members {
  owner[name] ??= empty;
  return owner[name] as Members;
}

function firstPresent(places: readonly Place[], line: Members) {
  for (const place of places) {
    if ('constant' in place) return { value: place.constant, isConstant: true };
    const value = valueAt(line, place.path);
    if (value === undefined || value === null || value === '') continue;
    const { lowerCase, time } = place;
    if (time !== null) return { value: timeOf(value, time), isConstant: false };
    const isLower = lowerCase && typeof value === 'string';
    return { value: isLower ? value.toLowerCase() : value, isConstant: false };
  }
  return undefined;
}

function valueAt(line: Members, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = line;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Members)[name];
  }
  return value;
}
