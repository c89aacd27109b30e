import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { atEnd } from '@indelible/testing/at-end';
import { type Browser, chromium } from 'playwright-core';

/**
 * The Chromium inside the npm package @sparticuz/chromium: works as root, without network, apt or a
 * download. Unpacked once per version into `.cache`; where the package has no build for this
 * machine (Arm, macOS), a browser that Playwright finds is used. Takes further flags of Chromium.
 */
export async function openChromium(more: string[] = []): Promise<Browser> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return chromium.launch({ args: more });
  }
  const folder = unpacked();
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    env: {
      ...process.env,
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
    // Nothing but this machine can be reached, and nothing is asked of the network at start.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ...more,
    ],
  });
}

/** Without optimizing compilers: what they compile is used for a second, which does not pay. */
const forTests = ['--js-flags=--no-maglev,--no-turbofan'];

let shared: Promise<Browser> | undefined;

/**
 * One browser for all files of a worker; it ends with the worker. Its profiles are closed at the
 * end of a file, so that the next one finds the browser as it was started.
 */
export async function sharedChromium(): Promise<Browser> {
  shared ??= openChromium(forTests);
  const browser = await shared;
  atEnd(() => Promise.all(browser.contexts().map((context) => context.close())));
  return browser;
}

function unpacked(): string {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const root = entry.slice(
    0,
    entry.lastIndexOf('@sparticuz/chromium') + '@sparticuz/chromium'.length,
  );
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folder = join(import.meta.dirname, '..', '.cache', `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  const inflate = (name: string) => brotliDecompressSync(readFileSync(join(root, 'bin', name)));
  writeFileSync(join(draft, 'chromium'), inflate('chromium.br'), { mode: 0o755 });
  for (const name of ['swiftshader', 'al2023', 'fonts']) {
    execFileSync('tar', ['-x', '--no-same-owner', '-C', draft], {
      input: inflate(`${name}.tar.br`),
    });
  }
  // Only the bundled fonts, so that a page has the same pixels on every machine.
  const fonts = `<dir>${folder}/fonts</dir><cachedir>${folder}/fontcache</cachedir>`;
  writeFileSync(
    join(draft, 'fonts.conf'),
    `<?xml version="1.0"?><fontconfig>${fonts}</fontconfig>`,
  );
  try {
    renameSync(draft, folder);
  } catch {
    rmSync(draft, { recursive: true, force: true }); // another worker was first
  }
  return folder;
}
