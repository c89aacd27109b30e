/** What a draft is called until it is whole; no object may be. */
export const draftSuffix = '.tmp';

/**
 * Names are ours alone, but a store on disk must never be led out of its folder, nor to a draft.
 */
export function requireName(name: string): void {
  const fine =
    /^[A-Za-z0-9_=.-]+(\/[A-Za-z0-9_=.-]+)*$/.test(name) &&
    !name.split('/').some((part) => part === '.' || part === '..' || part.endsWith(draftSuffix));
  if (!fine) throw new Error('not an object name');
}

/** Throws RangeError unless these are byte numbers in order. */
export function requireRange({ start, end }: { start: number; end: number }): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start)
    return;
  throw new RangeError('not a range of bytes');
}
