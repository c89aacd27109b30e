import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin, type Rolldown } from 'vite';
import { languages } from '../../../locales/languages.ts';

const folder = join(import.meta.dirname, '../src/capsule');

/**
 * Writes `capsule.html`, the page of evidence capsules. It has places for the data; program and
 * style stand in it, and its policy allows these two and no request at all.
 */
export function capsulePage(): Plugin {
  return {
    name: 'capsule-page',
    apply: 'build',
    async generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'capsule.html', source: await pageText() });
    },
  };
}

async function pageText(): Promise<string> {
  const script = await program();
  const style = readFileSync(join(folder, 'capsule.css'), 'utf8');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Evidence</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>This file is not checked</h1>
<p>It checks itself in a current browser that runs its script. If this text stays, the file is
damaged, or the browser does not run scripts: do not believe what is in it.</p>
</main>
<script type="application/json" id="data"></script>
<script type="application/json" id="record"></script>
<script>${script}</script>
</body>
</html>
`;
}

const hashOf = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** The verifier and what shows its result, as one script. */
async function program(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    define: { capsuleDictionaries: JSON.stringify(await dictionaries()) },
    build: {
      write: false,
      target: 'es2024',
      lib: { entry: join(folder, 'main.ts'), formats: ['iife'], name: 'capsule' },
    },
  });
  const [{ output }] = [built].flat() as [Rolldown.RolldownOutput];
  const code = output[0].code.trim();
  if (/<\/script|from\s*["']node:/.test(code)) throw new Error('the program cannot be inlined');
  return code;
}

/** The texts that a capsule shows, in every language. */
async function dictionaries() {
  const parts = Object.entries(languages).map(async ([language, { load }]) => {
    const { capsule, panel } = await load();
    return [
      language,
      { capsule, panel: { filters: panel.filters, evidence: panel.evidence } },
    ] as const;
  });
  return Object.fromEntries(await Promise.all(parts));
}
