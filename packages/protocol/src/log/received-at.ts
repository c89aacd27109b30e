import { formatTimestamp, parseTimestamp } from '../event/timestamp.ts';

/* A log entry holds the receipt time in microseconds; events show its millisecond. */

/** `2025-09-03T10:00:00.123Z`, with six digits only where the last three are not zero. */
export function formatReceivedAt(us: number): string {
  const text = formatTimestamp(Math.floor(us / 1000));
  const rest = us % 1000;
  return rest === 0 ? text : `${text.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/**
 * Reads only texts of `formatReceivedAt`; null for any other text, and from the year 2255 on, where
 * the microseconds exceed a safe integer.
 */
export function parseReceivedAt(text: string): number | null {
  const ms = parseTimestamp(text);
  if (ms === null) return null;
  const rest = text.length === 27 ? Number(text.slice(23, 26)) : 0;
  const us = ms * 1000 + rest;
  return Number.isSafeInteger(us) && formatReceivedAt(us) === text ? us : null;
}
