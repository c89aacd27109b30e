/** Addresses of a service, and where a credential may be sent. */

/** Whether `url` names this machine: `localhost`, `*.localhost`, 127.0.0.0/8 or `[::1]`. */
export function isLoopbackUrl(url: URL): boolean {
  const host = url.hostname;
  if (host === 'localhost' || host.endsWith('.localhost') || host === '[::1]') return true;
  // URL has normalised every spelling of an IPv4 address (127.1, 0x7f000001).
  return /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * The service's address without a trailing slash; a path is kept. Throws TypeError for other
 * schemes than http and https, for a login, query or fragment in the address, and, unless
 * `insecure`, if a credential would cross a network unencrypted.
 */
export function serviceUrl(text: string, sends: { key: boolean; insecure: boolean }): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError('the address of the service must start with http:// or https://');
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('the address of the service must have no login, query or fragment');
  }
  if (sends.key && !sends.insecure && url.protocol === 'http:' && !isLoopbackUrl(url)) {
    throw new TypeError(
      `the key would be sent unencrypted to ${url.host}: use https, or allow it as insecure`,
    );
  }
  return url.href.replace(/\/+$/, '');
}
