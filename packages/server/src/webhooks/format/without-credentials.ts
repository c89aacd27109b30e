const schemes = /^(bearer|basic|apikey|token|splunk)$/i;
const wordMin = 6;

/**
 * The text of an answer without the call's credentials, which some receivers repeat. Also removes
 * their parts (a token after its scheme, a password after its user) and their spellings in headers,
 * URLs and JSON. Keeps texts of less than six characters, which could be any text.
 */
export function withoutCredentials(text: string, credentials: readonly string[]): string {
  const words = credentials.flatMap((credential) => [credential, ...credential.split(/[\s:]+/)]);
  const secrets = words.filter((word) => word.length >= wordMin && !schemes.test(word));
  const spellings = secrets.flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);
  // The longest first, so that no part of it remains.
  const ordered = [...new Set(spellings)].sort((one, other) => other.length - one.length);
  return ordered.reduce((rest, secret) => rest.replaceAll(secret, '[credential]'), text);
}
