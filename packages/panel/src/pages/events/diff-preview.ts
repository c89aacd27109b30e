import { type Diff, type FieldChange, revealed, type Scalar } from '@indelible/protocol';

export interface ChangedField extends FieldChange {
  field: string;
}

/** The changes of a diff in the order they were recorded. */
export function changedFields(diff: Diff): ChangedField[] {
  return Object.entries(diff).map(([field, { from, to }]) => ({ field, from, to }));
}

/** What a row has room for: the first two changes, and how many more there are. */
export function diffPreview(diff: Diff): { shown: ChangedField[]; more: number } {
  const fields = changedFields(diff);
  const shown = fields.slice(0, 2);
  return { shown, more: fields.length - shown.length };
}

/** A value as one line: texts with what is invisible in them written out, absent ones as null. */
export function scalarText(value: Scalar | undefined): string | null {
  return value === null || value === undefined ? null : revealed(String(value));
}
