import unhomoglyph from 'unhomoglyph';

const alphabet = 'abcdefghijklmnopqrstuvwxyz';
// White on black circles and squares, and the letters of flags: each from A to Z.
const enclosed = [0x1f150, 0x1f170, 0x1f1e6].flatMap((start) =>
  [...alphabet].map((letter, at) => [String.fromCodePoint(start + at), letter] as const),
);
const smallCapitals = [...'ᴀᴅᴇɪᴍɴᴘʀꜱᴜʍ'].map(
  (letter, at) => [letter, [...'adeimnprsum'][at] ?? ''] as const,
);
// Unicode's table of confusables leaves them out.
const letters = new Map([...smallCapitals, ...enclosed]);
const digits: Readonly<Record<string, string>> = { 3: 'e', 4: 'a', 5: 's' };
const isAscii = (text: string) => /^[!-~]*$/.test(text);
const marks = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

const operatorRole = 'superadmin';
const operatorSkeleton = skeletonOf(operatorRole);

/**
 * Whether a role looks like that of operators, and is another one: other capitals, accents,
 * invisible characters, letters of other scripts (Unicode Technical Standard 39, section 4),
 * separators, digits for letters. `superadmin_assistant` is another word.
 */
export function looksLikeOperator(role: string): boolean {
  return role !== operatorRole && skeletonOf(role) === operatorSkeleton;
}

/** Equal for texts that look alike: letters alone, each by one that looks the same. */
function skeletonOf(text: string): string {
  const folded = latinOf(text)
    .toLowerCase()
    .replace(/[l1|]/g, 'i')
    .replace(/[345]/g, (digit) => digits[digit] ?? '');
  return folded
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('ʍ', 'm');
}

function latinOf(text: string): string {
  const plain = isAscii(text) ? text : text.normalize('NFKD').replace(marks, '').toLowerCase();
  if (isAscii(plain)) return plain;
  return unhomoglyph([...plain].map((letter) => letters.get(letter) ?? letter).join(''));
}
