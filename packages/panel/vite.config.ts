import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compressedAssets } from './build/compressed-assets.ts';
import { firstLoad } from './build/first-load.ts';
import { onlyOurLanguages } from './build/only-our-languages.ts';

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
  },
});
