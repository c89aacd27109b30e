import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** The lock files below a spool's folder. */
export function locksIn(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /(^|\/)lock$/.test(name)).map((name) => join(root, name));
}

/** Lets locks look as if their processes had ended some minutes ago. */
export function expire(locks: readonly string[]): void {
  const seconds = Date.now() / 1_000 - 300;
  for (const lock of locks) utimesSync(lock, seconds, seconds);
}
