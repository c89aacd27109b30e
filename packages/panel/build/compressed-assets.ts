import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const compressible = /\.(js|css|svg|html)$/;

/**
 * Writes `.gz` and `.br` beside every text asset, so that the service never compresses at run time.
 */
export function compressedAssets(): Plugin {
  return {
    name: 'compressed-assets',
    apply: 'build',
    writeBundle({ dir }) {
      for (const name of dir === undefined ? [] : readdirSync(dir, { recursive: true })) {
        if (typeof name === 'string' && compressible.test(name)) compress(join(dir ?? '', name));
      }
    },
  };
}

function compress(file: string): void {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
}
