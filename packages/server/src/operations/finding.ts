/** One check; `detail` says what was found and, unless it is fine, what to do. */
export interface Finding {
  check: string;
  level: 'ok' | 'warn' | 'fail';
  detail: string;
}
