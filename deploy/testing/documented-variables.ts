import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The variables of docs/configuration.md, which a test holds to those that the service reads. */
export function documentedVariables(): string[] {
  const page = join(import.meta.dirname, '../../docs/configuration.md');
  const rows = readFileSync(page, 'utf8').matchAll(/^\| `([A-Z_]+)`/gm);
  return [...rows].map(([, name = '']) => name);
}
