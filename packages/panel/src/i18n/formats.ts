/** A time in ms, or as ISO 8601. */
type Time = number | string;

const units = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

const made = new Map<string, Formats>();

/** Numbers and times as a reader of a language in a time zone expects them. */
export type Formats = ReturnType<typeof createFormats>;

/** Made once: every cell of a list asks for them, and a formatter of `Intl` is slow to make. */
export function formatsOf(language: string, timeZone: string): Formats {
  const key = `${language} ${timeZone}`;
  const formats = made.get(key) ?? createFormats(language, timeZone);
  made.set(key, formats);
  return formats;
}

function createFormats(language: string, timeZone: string) {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language, { timeZone, ...options });
  const time = format({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const day = format({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
  const shortDay = format({ day: 'numeric', month: 'short' });
  const dateTime = format({ dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
  const exact = format({
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    timeZoneName: 'short',
  });
  const key = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  const range = format({ dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });
  const month = format({ month: 'long', year: 'numeric' });
  const isFirst = (ms: number) => key.format(ms).endsWith('-01') && !/[1-9]/.test(time.format(ms));
  const isMonth = (from: number, to: number) =>
    isFirst(from) &&
    isFirst(to) &&
    to > from &&
    key.format(from).slice(0, 7) === key.format(to - 1).slice(0, 7);
  const number = new Intl.NumberFormat(language);
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  return {
    timeZone,
    number: (value: number) => number.format(value),
    /** Time of day with seconds. */
    time: (at: Time) => time.format(msOf(at)),
    /** Day in full, with its weekday. */
    day: (at: Time) => day.format(msOf(at)),
    /** Day in a few characters. */
    shortDay: (at: Time) => shortDay.format(msOf(at)),
    /** Date and time to the second. */
    dateTime: (at: Time) => dateTime.format(msOf(at)),
    /** Date and time with milliseconds and zone, for facts. */
    exact: (at: Time) => exact.format(msOf(at)),
    /** A key that is the same for all moments of one day. */
    dayKey: (at: Time) => key.format(msOf(at)),
    /** A whole month by its name. */
    range: (from: number, to: number) =>
      isMonth(from, to) ? month.format(from) : range.formatRange(from, to),
    month: (at: Time) => month.format(msOf(at)),
    /** The days of `[from, to)`, in a few characters. */
    dayRange: (from: number, to: number) => shortDay.formatRange(from, to - 1),
    relative: (at: Time, nowMs: number) => relativeText(relative, msOf(at) - nowMs),
    bytes: (value: number) => bytesText(language, value),
  };
}

const msOf = (time: Time) => (typeof time === 'number' ? time : Date.parse(time));

function relativeText(format: Intl.RelativeTimeFormat, ms: number): string {
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000];
  return format.format(Math.round(ms / size), unit);
}

function bytesText(language: string, value: number): string {
  const step = Math.min(3, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  const unit = (['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const)[step] ?? 'byte';
  const options = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, options).format(value / 1_000 ** step);
}
