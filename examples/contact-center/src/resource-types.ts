/*
 * What a tenant configures. One description a type makes its form and judges what comes out of it.
 */

export type State = Record<string, unknown>;

interface Field {
  name: string;
  label: string;
  kind: 'number' | 'text' | 'choice' | 'yes/no' | 'lines';
  choices?: readonly string[];
  least?: number;
  most?: number;
}

export interface ResourceType {
  name: string;
  /** In the address and above the list. */
  plural: string;
  fields: readonly Field[];
}

export const resourceTypes: readonly ResourceType[] = [
  {
    name: 'queue',
    plural: 'Queues',
    fields: [
      { name: 'maxWaitSeconds', label: 'Longest wait (s)', kind: 'number', least: 5, most: 3_600 },
      {
        name: 'strategy',
        label: 'Who gets the call',
        kind: 'choice',
        choices: ['longest_idle', 'skills_first', 'round_robin'],
      },
      { name: 'overflowTo', label: 'Then to', kind: 'text' },
    ],
  },
  {
    name: 'ivr',
    plural: 'IVRs',
    fields: [
      { name: 'greeting', label: 'Greeting', kind: 'text' },
      { name: 'menu', label: 'Menu, one choice a line', kind: 'lines' },
    ],
  },
  {
    name: 'recording_policy',
    plural: 'Recording policies',
    fields: [
      { name: 'percent', label: 'Calls recorded (%)', kind: 'number', least: 0, most: 100 },
      { name: 'retentionDays', label: 'Kept for (days)', kind: 'number', least: 1, most: 3_650 },
      { name: 'pauseOnCardEntry', label: 'Paused while cards are read out', kind: 'yes/no' },
    ],
  },
  {
    name: 'user_role',
    plural: 'Roles',
    fields: [{ name: 'permissions', label: 'Permissions, one a line', kind: 'lines' }],
  },
];

export function findType(name: string | undefined): ResourceType | null {
  return resourceTypes.find((type) => type.name === name) ?? null;
}

/** Input that cannot be used; the message is for the person who typed it. */
export class InputError extends Error {}

/** The state that a submitted form stands for. Throws InputError. */
export function stateOfForm(type: ResourceType, form: Record<string, unknown>): State {
  const texts = ({ name, kind }: Field) => {
    const text = typeof form[name] === 'string' ? form[name].trim() : '';
    if (kind === 'yes/no') return text === 'yes';
    if (kind === 'number') return text === '' ? Number.NaN : Number(text);
    return kind === 'lines' ? linesOf(text) : text;
  };
  return judged(type, Object.fromEntries(type.fields.map((field) => [field.name, texts(field)])));
}

const linesOf = (text: string) =>
  text
    .split(/[\r\n]/)
    .map((line) => line.trim())
    .filter(Boolean);

/**
 * The same state when it is one of this type: also of what comes from elsewhere. Throws InputError.
 */
export function judged(type: ResourceType, state: State): State {
  return Object.fromEntries(
    type.fields.map((field) => {
      const value = state[field.name];
      if (!fits(field, value)) throw new InputError(`${field.label}: this cannot be used`);
      return [field.name, value];
    }),
  );
}

function fits({ kind, choices, least, most }: Field, value: unknown): boolean {
  if (kind === 'yes/no') return typeof value === 'boolean';
  if (kind === 'lines') return Array.isArray(value) && value.every((line) => isText(line, 1));
  if (kind === 'choice') return typeof value === 'string' && (choices ?? []).includes(value);
  if (kind === 'text') return isText(value, 0);
  return Number.isInteger(value) && Number(value) >= (least ?? 0) && Number(value) <= (most ?? 0);
}

const isText = (value: unknown, least: number) =>
  typeof value === 'string' && value.length >= least && value.length <= 500;
