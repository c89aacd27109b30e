/** Hashes or entries of a full tile: the tree is stored in subtrees of height 8. */
export const tileWidth = 256;

/** 0 = leaf hashes, upwards; `entries` = the bundle of the entries. */
export type TileLevel = number | 'entries';

const levelMax = 63;

/**
 * Path of a tile below its log's prefix, by C2SP tlog-tiles: `tile/<L>/<N>[.p/<W>]`, with the index
 * in groups of three digits (1234067 = `x001/x234/067`). RangeError for an invalid tile.
 */
export function tilePath(level: TileLevel, index: number, width = tileWidth): string {
  if (level !== 'entries') requireInteger('tile level', level, 0, levelMax);
  requireInteger('tile index', index, 0, Number.MAX_SAFE_INTEGER);
  requireInteger('tile width', width, 1, tileWidth);
  const suffix = width === tileWidth ? '' : `.p/${width}`;
  return `tile/${level}/${indexPath(index)}${suffix}`;
}

function indexPath(index: number): string {
  const last = String(index % 1000).padStart(3, '0');
  let path = last;
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    path = `x${String(rest % 1000).padStart(3, '0')}/${path}`;
  }
  return path;
}

function requireInteger(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(`${name} must be an integer from ${min} to ${max}`);
}

// A safe integer has at most 16 digits: five groups before the last one.
const pattern = /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/(\d{1,3}))?$/;

/** The tile of a path, 1 to 256 wide; null unless it is exactly the path of `tilePath`. */
export function parseTilePath(path: string) {
  const [, levelText, indexText = '', widthText] = pattern.exec(path) ?? [];
  if (levelText === undefined) return null;
  const level: TileLevel = levelText === 'entries' ? levelText : Number(levelText);
  const index = Number(indexText.replace(/[x/]/g, ''));
  const width = widthText === undefined ? tileWidth : Number(widthText);
  const inRange = level === 'entries' || level <= levelMax;
  if (!inRange || !Number.isSafeInteger(index) || width < 1 || width > tileWidth) return null;
  // Each tile has one path: leading zeros and `.p/256` would be second paths, cached separately.
  return tilePath(level, index, width) === path ? { level, index, width } : null;
}
