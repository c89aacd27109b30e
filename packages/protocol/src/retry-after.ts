/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110); 0 if absent or unreadable. */
export function retryAfterMs(header: string | null, nowMs: number): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs);
}
