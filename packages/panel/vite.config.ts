import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { capsulePage } from './build/capsule-page.ts';
import { compressedAssets } from './build/compressed-assets.ts';
import { firstLoad } from './build/first-load.ts';
import { onlyOurLanguages } from './build/only-our-languages.ts';

// A test runner that builds the panel has its own value here; React would then be the development
// build: larger by half, and slower.
process.env.NODE_ENV = 'production';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [
    react(),
    tailwindcss(),
    onlyOurLanguages(),
    firstLoad(),
    capsulePage(),
    compressedAssets(),
  ],
  build: {
    target: 'es2024',
    // Keeps light-dark(): its fallback for older browsers follows the system, not the switch.
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // The policy forbids inline script and data: fonts; every asset is a file with a hash.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    rolldownOptions: {
      // Without this, each icon and each small part that several pages use is a file and a request.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'shared',
              test: /lucide-react|panel\/src\/(?:components|i18n|search)\//,
              minShareCount: 2,
              maxModuleSize: 1_200,
            },
          ],
        },
      },
      // The list of pages loads each of them lazily; the first page is also part of the entry.
      checks: { ineffectiveDynamicImport: false },
      treeshake: {
        // Importing them has no side effects, so each page gets only what it uses; the verifier is
        // loaded with proofs.
        moduleSideEffects: [{ test: /\/packages\/(?:protocol|client)\/src\//, sideEffects: false }],
      },
    },
  },
});
