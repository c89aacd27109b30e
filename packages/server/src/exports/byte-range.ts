/** First and last byte, both included. */
export interface Range {
  start: number;
  end: number;
}

/**
 * What a `Range` header (RFC 9110 section 14) asks of a file of `size` bytes: one range;
 * `unsatisfiable` when it lies behind the end; null for the whole file, also when there are several
 * ranges or the header cannot be read, which a server may ignore.
 */
export function readRange(
  header: string | undefined,
  size: number,
): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
