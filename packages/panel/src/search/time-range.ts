/** The time range of a search: relative to now, or absolute. */

export const presets = ['15m', '1h', '4h', '24h', '7d', '30d', '90d', '365d', 'all'] as const;
export type Preset = (typeof presets)[number];

/** The default range. */
export const presetDefault: Preset = '30d';

export type TimeRange =
  /** `at`, ms, fixes the range while a reader pages through it. */
  | { kind: 'last'; preset: Preset; at?: number }
  /** `[from, to)`, ms; an absent end is open. */
  | { kind: 'between'; from?: number; to?: number };

const minute = 60_000;
const day = 1_440 * minute;
const presetMs: Readonly<Record<Exclude<Preset, 'all'>, number>> = {
  '15m': 15 * minute,
  '1h': 60 * minute,
  '4h': 240 * minute,
  '24h': day,
  '7d': 7 * day,
  '30d': 30 * day,
  '90d': 90 * day,
  '365d': 365 * day,
};

export function isPreset(text: string): text is Preset {
  return presets.some((preset) => preset === text);
}

/** The absolute range `[from, to)` in ms of `range` at `nowMs`; `all` has no start. */
export function absoluteRange(range: TimeRange, nowMs: number): { from?: number; to?: number } {
  if (range.kind === 'between') {
    const { from, to } = range;
    return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  }
  const to = range.at ?? nowMs;
  return range.preset === 'all' ? { to } : { from: to - presetMs[range.preset], to };
}

/** The next longer preset, for a search that found nothing; null after the longest. */
export function widerPreset(range: TimeRange): Preset | null {
  if (range.kind === 'between') return 'all';
  return presets[presets.indexOf(range.preset) + 1] ?? null;
}

/** Three times the range around its middle, not beyond now; null if it has an open end. */
export function zoomedOut(range: TimeRange, nowMs: number): { from: number; to: number } | null {
  if (range.kind === 'last' || range.from === undefined || range.to === undefined) return null;
  const { from, to } = range;
  const end = Math.max(to, Math.min(nowMs, to + (to - from)));
  return { from: end - 3 * (to - from), to: end };
}
