import { readFileSync } from 'node:fs';

/**
 * Resident memory in bytes. Not `resourceUsage()`, whose peak begins with that of the process that
 * started this one.
 */
export function memoryOf(pid: number | 'self'): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) * 1_024;
  return { now: kib('VmRSS'), peak: kib('VmHWM') };
}
