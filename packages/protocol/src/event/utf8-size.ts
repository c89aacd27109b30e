const utf8 = new TextEncoder();

/** Whether `text` takes more than `max` bytes of UTF-8 (at most three per UTF-16 unit). */
export function exceedsBytes(text: string, max: number): boolean {
  if (text.length > max) return true;
  return text.length * 3 > max && utf8.encode(text).length > max;
}
