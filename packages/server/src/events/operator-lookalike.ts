import unhomoglyph from 'unhomoglyph';

// Latin letters that Unicode's table of confusables leaves out.
const smallCapitals = new Map(
  [...'ᴀᴅᴇɪᴍɴᴘʀꜱᴜʍ'].map((letter, at) => [letter, [...'adeimnprsum'][at] ?? '']),
);
const marks = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

const operatorRole = 'superadmin';
const operatorSkeleton = skeletonOf(operatorRole);

/**
 * Whether a role is not that of operators but a person would read it so: other capitals, accents,
 * invisible characters, letters of other scripts (Unicode Technical Standard 39, section 4).
 */
export function looksLikeOperator(role: string): boolean {
  return role !== operatorRole && skeletonOf(role) === operatorSkeleton;
}

/** Equal for texts that look alike: without accents, all letters by one that looks the same. */
function skeletonOf(text: string): string {
  const plain = text.normalize('NFKD').replace(marks, '').toLowerCase();
  const isAscii = /^[!-~]*$/.test(plain);
  const latin = [...plain].map((letter) => smallCapitals.get(letter) ?? letter).join('');
  const base = isAscii ? plain : unhomoglyph(latin).toLowerCase();
  return base.replaceAll('rn', 'm').replaceAll('ʍ', 'm').replace(/[l1|]/g, 'i');
}
