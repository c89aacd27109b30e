interface Range {
  type: string;
  q: number;
}

/**
 * The media type that an `Accept` header prefers (RFC 9110 section 12.5.1): highest weight, then
 * most specific, then first in `types`. The first one if the header is missing or accepts none.
 */
export function acceptedType(header: string | undefined, types: readonly string[]): string {
  const ranges = (header ?? '*/*').split(',').map(readRange);
  const [first = ''] = types;
  let best = { type: first, q: 0, precision: -1 };
  for (const type of types) {
    const { q, precision } = weightOf(type, ranges);
    if (q > best.q || (q > 0 && q === best.q && precision > best.precision)) {
      best = { type, q, precision };
    }
  }
  return best.type;
}

function readRange(text: string): Range {
  const [type = '', ...params] = text.toLowerCase().split(';');
  const q = params.map((param) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(param)?.[1]);
  return { type: type.trim(), q: Number(q.find((value) => value !== undefined) ?? 1) };
}

/** The most specific matching range decides. */
function weightOf(type: string, ranges: readonly Range[]): { q: number; precision: number } {
  const names = ['*/*', `${type.split('/', 1)[0]}/*`, type];
  for (let precision = names.length - 1; precision >= 0; precision--) {
    const range = ranges.find((each) => each.type === names[precision]);
    if (range) return { q: range.q, precision };
  }
  return { q: 0, precision: -1 };
}
