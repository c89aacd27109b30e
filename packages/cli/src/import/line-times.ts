import { formatTimestamp, type JsonValue, timeForm, timeMsMax } from '@indelible/protocol';

/** Forms of epoch times that `--time` reads, in milliseconds each. */
const unitMs = { epoch_s: 1_000, epoch_ms: 1 } as const;
export type EpochForm = keyof typeof unitMs;
export const epochForms = Object.keys(unitMs) as readonly EpochForm[];

const decimal = /^\d+(?:\.\d+)?$/;

/** The time of an epoch number, also as a text; any other value unchanged. */
export function timeOf(value: JsonValue, form: EpochForm): JsonValue {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && decimal.test(value));
  const ms = isNumber ? Math.round(Number(value) * unitMs[form]) : -1;
  return ms >= 0 && ms <= timeMsMax ? formatTimestamp(ms) : value;
}

const earlyYear = /^(?:-|0\d{3}-|1[0-8]\d\d-|19[0-6]\d-)/;

/** Why a value is not the time of an event, and what helps. */
export function notATime(value: JsonValue): string {
  if (earlyYear.test(String(value))) return 'is before 1970, and an event cannot be';
  const isNumber = typeof value === 'number' || decimal.test(String(value));
  const advice = isNumber ? '; read epoch times with --time epoch_s or --time epoch_ms' : '';
  return `is not ${timeForm}${advice}`;
}
