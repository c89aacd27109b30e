import { gzipSync } from 'node:zlib';
import type { Plugin, Rolldown } from 'vite';

/** The most script, in bytes of gzip, that a browser fetches before the first page is shown. */
const firstLoadMax = 230 * 1024;

/** Prints the size of the entry with all its imports; fails a build that exceeds the limit. */
export function firstLoad(): Plugin {
  return {
    name: 'first-load',
    apply: 'build',
    generateBundle(_options, bundle) {
      const bytes = firstLoadBytes(bundle);
      const text = `first load: ${(bytes / 1024).toFixed(1)} KiB of script (gzip), at most 230`;
      if (bytes > firstLoadMax) this.error(text);
      console.log(text);
    },
  };
}

/** Bytes of gzip of the chunks that are fetched first. */
function firstLoadBytes(bundle: Rolldown.OutputBundle): number {
  const sizes = firstLoadCode(bundle).map((code) => gzipSync(code, { level: 9 }).length);
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The code of the entry chunks and of all that they import statically. */
function firstLoadCode(bundle: Rolldown.OutputBundle): string[] {
  const chunks = Object.values(bundle).filter((output) => output.type === 'chunk');
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const needed = new Set<Rolldown.OutputChunk>();
  const need = (chunk: Rolldown.OutputChunk | undefined) => {
    if (chunk === undefined || needed.has(chunk)) return;
    needed.add(chunk);
    for (const name of chunk.imports) need(byName.get(name));
  };
  for (const chunk of chunks) if (chunk.isEntry) need(chunk);
  return [...needed].map(({ code }) => code);
}
