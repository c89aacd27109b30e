#!/usr/bin/env node
// JavaScript, because an older Node cannot read the TypeScript that the program is written in.
if (process.features.typescript) {
  await import('../src/main.ts');
} else {
  console.error(
    `indelible: it needs Node 24, and this is Node ${process.versions.node}. ` +
      'Run it by npx, which takes the Node that npm has installed: npx indelible',
  );
  process.exitCode = 2;
}
