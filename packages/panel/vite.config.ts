import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compressedAssets } from './build/compressed-assets.ts';
import { firstLoad } from './build/first-load.ts';
import { onlyOurLanguages } from './build/only-our-languages.ts';

// A test runner that has the panel built leaves its own value here, and React would be the one with
// checks for development: half as large again, and slower.
process.env.NODE_ENV = 'production';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), onlyOurLanguages(), firstLoad(), compressedAssets()],
  build: {
    target: 'es2024',
    // light-dark() as it is: what older browsers would need follows the system, not the switch.
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // The policy forbids inline script and data: fonts; every asset is a file with a hash.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    rolldownOptions: {
      // The list of pages loads each of them lazily; the first one is also part of the entry.
      checks: { ineffectiveDynamicImport: false },
      treeshake: {
        // Loading them does nothing: a page gets what it
        // uses of them, and the verifier comes with proofs.
        moduleSideEffects: [{ test: /\/packages\/(?:protocol|client)\/src\//, sideEffects: false }],
      },
    },
  },
});
