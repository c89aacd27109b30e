import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'e2e/**/*.test.ts', '*.test.ts'],
    // One PostgreSQL for the whole run; every test file clones its own database from a template.
    globalSetup: './packages/server/src/testing/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
