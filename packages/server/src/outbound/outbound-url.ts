export const outboundUrlMax = 2_048;

/** The names of this machine in URLs. */
export const loopback = ['127.0.0.1', '[::1]', 'localhost'];

/**
 * Whether a tenant may configure a URL of this form: absolute http or https, printable ASCII, at
 * most 2,048 characters, without user name or password, because the URL is shown. `refusalOf` says
 * whether it may be called.
 */
export function isOutboundUrl(text: string): boolean {
  // The URL parser would silently drop tabs, line breaks and surrounding spaces.
  if (text.length > outboundUrlMax || !/^https?:\/\/[\x21-\x7e]+$/i.test(text)) return false;
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

const word = /[^\s\p{C}<>()[\]\\,;:"@.]+/u.source;
const label = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:-+[\p{L}\p{M}\p{N}]+)*/u.source;
const mailAddress = new RegExp(`^${word}(?:\\.${word})*@${label}(?:\\.${label})*$`, 'u');

/**
 * Whether mail can be sent to `text`: a dot-atom of RFC 5322 at a name of a host. Events may name
 * people by other addresses.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 320 && mailAddress.test(text);
}
