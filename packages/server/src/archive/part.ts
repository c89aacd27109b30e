/** The largest part of an archive; the end of a month of receipt ends it earlier. */
export interface PartLimits {
  entries: number;
  /** Characters of diffs and states; limits memory and temporary files. */
  characters: number;
}

export const partLimits: PartLimits = { entries: 100_000, characters: 32 * 2 ** 20 };

/** Paths of a part's two files. */
export interface PartPaths {
  events: string;
  identity: string;
}
