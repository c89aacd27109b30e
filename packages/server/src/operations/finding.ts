/** One check; `detail` says what was found and, unless it is fine, what to do. */
export interface Finding {
  check: string;
  level: 'ok' | 'warn' | 'fail';
  detail: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, level: 'ok', detail });
export const warn = (check: string, detail: string): Finding => ({ check, level: 'warn', detail });
export const fail = (check: string, detail: string): Finding => ({ check, level: 'fail', detail });
