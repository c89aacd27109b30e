/** The suffix of an unfinished object; no object name has it. */
export const draftSuffix = '.tmp';

/** A name must not lead out of the store's folder, or to a draft. */
export function isName(name: string): boolean {
  return (
    /^[A-Za-z0-9_=.-]+(\/[A-Za-z0-9_=.-]+)*$/.test(name) &&
    !name.split('/').some((part) => part === '.' || part === '..' || part.endsWith(draftSuffix))
  );
}

export function requireName(name: string): void {
  if (!isName(name)) throw new Error('not an object name');
}

/** Throws RangeError unless these are ordered byte numbers. */
export function requireRange({ start, end }: { start: number; end: number }): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start)
    return;
  throw new RangeError('not a range of bytes');
}
