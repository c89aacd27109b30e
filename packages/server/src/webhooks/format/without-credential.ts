const schemes = /^(bearer|basic|apikey|token|splunk)$/i;
const wordMin = 6;

/**
 * The text of an answer without the credential that the call carried: some
 * receivers repeat what they refuse. Also without its parts (a token behind its
 * scheme, a password behind its user) and in the spellings that headers, URLs
 * and JSON give it. Parts of less than six characters would spoil any text.
 */
export function withoutCredential(text: string, credential: string | null): string {
  if (credential === null) return text;
  const words = credential.split(/[\s:]+/).filter((word) => word.length >= wordMin);
  const secrets = [credential, ...words.filter((word) => !schemes.test(word))];
  const spellings = secrets.flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);
  // The longest first, so that no rest of one is left behind by another.
  const ordered = [...new Set(spellings)].sort((one, other) => other.length - one.length);
  return ordered.reduce((rest, secret) => rest.replaceAll(secret, '[credential]'), text);
}
