import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import {
  commitmentOf,
  committedEventOf,
  type ErrorCode,
  encodeEntry,
  errorCodes,
  eventFields,
  leafHash,
  parseTimestamp,
  saltsLength,
  segmentHash,
  segmentTexts,
  takeEvent,
  uuidFromEventId,
  uuidTimeMs,
  warningCodes,
} from '@indelible/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Command } from 'commander';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { banner } from './packages/cli/src/banner.ts';
import { buildProgram } from './packages/cli/src/run.ts';
import * as limits from './packages/protocol/src/event/limits.ts';
import { groupKeys } from './packages/protocol/src/filter/stats-query.ts';
import { takeContext } from './packages/protocol/src/testing/take-context.ts';
import { FullEvent } from './packages/server/src/events/schemas.ts';
import { formats } from './packages/server/src/http/json-schema.ts';

/* What the documentation says, held against the code. */

const root = import.meta.dirname;
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const left = new Set(['node_modules', 'data', 'dist', '.git', '.cache', 'coverage']);

function markdownBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (left.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return markdownBelow(path);
    return entry.name.endsWith('.md') ? [relative(root, path)] : [];
  });
}

const documents = markdownBelow(root);

interface Block {
  file: string;
  language: string;
  code: string;
}

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm;

function blocksOf(file: string): Block[] {
  return [...read(file).matchAll(fence)].map(([, language = '', code = '']) => {
    return { file, language, code };
  });
}

const blocks = documents.flatMap(blocksOf);
const prose = (file: string) => read(file).replace(fence, '');

/** The text from a heading to the next one of the same or a higher level. */
function section(file: string, heading: string): string {
  const text = read(file);
  const start = text.indexOf(`\n${heading}\n`);
  expect(start, `${file} has no ${heading}`).toBeGreaterThan(-1);
  const level = /^#+/.exec(heading)?.[0].length ?? 1;
  const [body = ''] = text
    .slice(start + heading.length + 2)
    .split(new RegExp(`^#{1,${level}} `, 'm'));
  return body;
}

/** First and second cell of every row whose first cell is one word in backticks. */
function rowsOf(text: string): Record<string, string> {
  const rows = text.matchAll(/^\| `([^`|]+)` \| (.*?) \|/gm);
  return Object.fromEntries([...rows].map(([, name, cell]) => [name, cell]));
}

test('every error code is documented with its status, its title and what to do, and no other', () => {
  const entries = section('docs/errors.md', '## Codes').split(/^### /m).slice(1);
  const documented = entries.map((entry) => {
    const [, code, status, title, help] =
      /^(\w+)\n\n\*\*(\d{3}) ([^*]+)\.\*\* ([^\n]+)\n$/.exec(`${entry.trim()}\n`) ?? [];
    return [code ?? entry, { status: Number(status), title, help }];
  });
  expect(Object.fromEntries(documented)).toEqual(errorCodes);
  expect(documented).toHaveLength(Object.keys(errorCodes).length);
});

test('every warning is documented in its own words, and no other', () => {
  expect(rowsOf(section('docs/errors.md', '## Warnings'))).toEqual(warningCodes);
});

test('every documented code of a field error is one that the service gives', () => {
  const sources = [
    'server/src/http/json-schema.ts',
    'server/src/http/problem.ts',
    'server/src/searches/evidence.ts',
    'protocol/src/json/canonical.ts',
  ];
  const source = sources.map((file) => read(join('packages', file))).join();
  const codes = [...section('docs/errors.md', '## Field errors').matchAll(/^\| (`.*?) \|/gm)];
  const names = codes.flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, n]) => n));
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !source.includes(`'${name}'`))).toEqual([]);
});

test('every variable the service reads is documented, and no other', () => {
  const source = read('packages/server/src/config.ts');
  const variables = [...source.matchAll(/\bread\.\w+\(\s*'([A-Z_]+)'/g)].map(([, name]) => name);
  expect(variables.length).toBeGreaterThan(15);
  const documented = Object.keys(rowsOf(read('docs/configuration.md')));
  expect(documented.sort()).toEqual([...new Set(variables)].sort());
});

test('every metric is documented, and no other', () => {
  const source = read('packages/server/src/operations/metrics.ts');
  const metrics = [...source.matchAll(/'(indelible_\w+)'/g)].map(([, name]) => name);
  const documented = Object.keys(rowsOf(section('docs/operations/monitoring.md', '## Metrics')));
  expect(documented.sort()).toEqual([...new Set(metrics)].sort());
});

const heading = /^#{1,6} (.+)$/gm;

/** The anchors that GitHub gives to a document's headings, and those that are written out. */
function anchorsOf(file: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, id = ''] of prose(file).matchAll(/<a id="([^"]+)">/g)) anchors.add(id);
  for (const [, title = ''] of prose(file).matchAll(heading)) {
    const words = title.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '');
    const slug = words.replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

function isBroken(file: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const resolved = path === '' ? file : join(dirname(file), path);
  if (!existsSync(join(root, resolved))) return true;
  return anchor !== undefined && !anchorsOf(resolved).has(anchor);
}

test('every link within the documentation leads somewhere', () => {
  const links = documents.flatMap((file) =>
    [...prose(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => ({ file, target })),
  );
  const own = links.filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(own.length).toBeGreaterThan(40);
  const broken = own.filter(({ file, target }) => isBroken(file, target));
  expect(broken.map(({ file, target }) => `${file}: ${target}`)).toEqual([]);
});

test('the documentation names the actor, not whoever, nobody or somebody', () => {
  // The security page quotes titles of tests; CONTRIBUTING names these words to forbid them.
  const own = documents.filter((file) => !/^(docs\/security|CONTRIBUTING)\.md$/.test(file));
  const vague = /\b(whoever|nobody|somebody|anybody)\b/i;
  const withoutCode = (file: string) => prose(file).replace(/`[^`]*`/g, '');
  expect(own.filter((file) => vague.test(withoutCode(file)))).toEqual([]);
});

test('every document can be reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const file of reached) {
    if (!existsSync(join(root, file))) continue; // a broken link: the test above names it
    for (const [, target = ''] of prose(file).matchAll(/\]\(([^)#\s]+\.md)/g)) {
      if (!/^[a-z]+:/.test(target)) reached.add(join(dirname(file), target));
    }
  }
  expect(documents.filter((file) => !reached.has(file))).toEqual([]);
});

interface Example {
  file: string;
  value: Record<string, unknown>;
}

const examples: Example[] = blocks
  .filter(({ language }) => language === 'json')
  .map(({ file, code }) => ({ file, value: JSON.parse(code) }));

test('every event in the documentation is one that the service takes', () => {
  const events = examples.filter(({ value }) => 'actor' in value && !('sequence' in value));
  expect(events.length).toBeGreaterThan(2);
  const context = takeContext({ nowMs: Date.UTC(2025, 11, 1), boundTenantId: null });
  for (const { file, value } of events) {
    const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
    const { refusal } = takeEvent({ tenantId, ...value }, context);
    expect(refusal, `${file}: ${JSON.stringify(value)}`).toBeUndefined();
  }
});

test('the page on recording lists every field that is sent, and the limits as they are', () => {
  const page = read('docs/recording.md');
  const rows = [...page.matchAll(/^\| (`[^|]*) \| /gm)].map(([, cell = '']) => cell);
  const names = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  for (const { path, sent } of eventFields) if (sent) expect(names).toContain(path);
  const count = (value: number) => value.toLocaleString('en');
  const mib = `${limits.batchBytesMax / 2 ** 20} MiB`;
  for (const fact of [
    `one event | ${limits.inKib(limits.eventBytesMax)} |`,
    `a batch | ${count(limits.batchEventsMax)} events, ${mib} |`,
    `\`before\`, \`after\` | ${limits.inKib(limits.stateBytesMax)} each |`,
    `\`diff\` | ${limits.diffFieldsMax} fields, a text ${limits.inKib(limits.diffTextBytesMax)} |`,
    `cut at ${count(limits.userAgentLengthMax)} characters`,
    `up to ${count(limits.reasonLengthMax)} characters`,
    `up to ${limits.nameLengthMax} characters`,
    `a visible text of up to ${limits.roleLengthMax} characters`,
    `of up to ${limits.wordLengthMax} characters`,
  ]) {
    expect(page).toContain(fact);
  }
});

test('the page on reading names what counts are grouped by as the service takes it', () => {
  const [, keys = ''] =
    /`group_by` takes one or two of (.*), at$/m.exec(read('docs/reading.md')) ?? [];
  expect(keys.match(/\w+/g)).toEqual(groupKeys);
});

test('every stored event in the documentation has the shape of an answer', () => {
  const validate = new Ajv2020({ allErrors: true, strict: false, formats }).compile(FullEvent);
  const events = examples.filter(({ value }) => 'sequence' in value);
  expect(events.length).toBeGreaterThan(0);
  for (const { file, value } of events) {
    expect(validate(value), `${file}: ${JSON.stringify(validate.errors)}`).toBe(true);
  }
});

test('every problem in the documentation is one of the table', () => {
  const problems = examples.filter(({ value }) => 'requestId' in value);
  expect(problems.length).toBeGreaterThan(0);
  for (const { value } of problems) {
    const { code } = value as { code: ErrorCode };
    const { status, title } = errorCodes[code];
    expect(value).toMatchObject({ type: `urn:indelible:error:${code}`, status, title });
  }
});

test('the worked examples of the log format are what the code computes', () => {
  const events = examples.filter(({ file }) => file === 'docs/log-format.md');
  expect(events).toHaveLength(2);
  const rows = section('docs/log-format.md', '## A worked example').matchAll(
    /\| `([0-9a-f]+)` \|/g,
  );
  expect([...rows].map(([, value]) => value)).toEqual(events.flatMap(({ value }) => worked(value)));
});

/** The rows of a worked example, whose salts count from 00. */
function worked(value: Record<string, unknown>): string[] {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const sha = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer');
  const event = committedEventOf(value);
  const texts = segmentTexts(event);
  const salts = Uint8Array.from({ length: saltsLength(texts) }, (_, index) => index);
  const shown = texts.filter((text) => text !== null);
  const segments = texts.flatMap((text, i) => {
    const at = 16 * shown.indexOf(text ?? '');
    return text === null ? [] : [hex(segmentHash(sha, i, salts.subarray(at, at + 16), text))];
  });
  const commitment = commitmentOf(sha, texts, salts);
  const receivedAtUs = (parseTimestamp(event.receivedAt) ?? 0) * 1_000;
  const version = event.context === null ? 1 : 2;
  const entry = encodeEntry({ version, receivedAtUs, eventUuid: event.uuid, commitment });
  expect(blocks.map(({ code }) => code)).toContain(`${texts[event.context === null ? 0 : 1]}\n`);
  const uuid = event.uuid.replaceAll('-', '');
  return [...segments, hex(commitment), uuid, hex(entry), hex(leafHash(sha, entry))];
}

test('the code that makes an id makes ids that the service takes, for any moment', async () => {
  const [code = ''] = blocks
    .filter(({ file, language }) => file === 'docs/recording.md' && language === 'js')
    .map((block) => block.code);
  const url = `data:text/javascript,${encodeURIComponent(code)}`;
  const { eventId }: { eventId: (timeMs: number) => string } = await import(url);
  fc.assert(
    fc.property(fc.nat(2 ** 48 - 1), (timeMs) => {
      const uuid = uuidFromEventId(eventId(timeMs));
      expect(uuid && uuidTimeMs(uuid)).toBe(timeMs);
    }),
  );
});

test('the README shows the very calls that a start prints', () => {
  const text = banner({
    // The page's commands name the reader's own port.
    url: `http://127.0.0.1:\${PORT:-3000}`,
    dataDir: 'data',
    platformKeyFile: 'data/platform-api-key',
    takenOver: false,
  });
  const lines = text.split('\n').filter((line) => /^ {2,4}(curl|-H|-d) /.test(line));
  expect(lines.length).toBeGreaterThan(8);
  const shown = new Set(
    read('README.md')
      .split('\n')
      .map((line) => `  ${line}`),
  );
  expect(lines.filter((line) => !shown.has(line))).toEqual([]);
});

/** The program's commands by their words, such as `tenant create`, with every option's names. */
function commands(): Map<string, Set<string>> {
  const { env, stdin, stdout, stderr } = process;
  const program = buildProgram({ env, stdin, stdout, stderr, exitCode: 0 });
  return new Map(program.commands.flatMap((command) => leaves(command, '')));
}

function leaves(command: Command, above: string): [string, Set<string>][] {
  const words = `${above} ${command.name()}`.trim();
  if (command.commands.length > 0) return command.commands.flatMap((sub) => leaves(sub, words));
  const names = command.options.flatMap(({ long, short }) => [long ?? '', short ?? '']);
  return [[words, new Set([...names.filter(Boolean), '--help', '-h'])]];
}

test('every command of the program is documented with each of its options, and no other', () => {
  const known = commands();
  const text = read('docs/cli.md');
  const documented = [...text.matchAll(/^### indelible (.+)$/gm)].map(([, words]) => words);
  expect(documented.sort()).toEqual([...known.keys()].sort());
  const shared = section('docs/cli.md', '## Over HTTP').split('### ')[0] ?? '';
  for (const [words, options] of known) {
    const own = `${section('docs/cli.md', `### indelible ${words}`)}${shared}`;
    const missing = [...options].filter((name) => name.startsWith('--') && name !== '--help');
    expect(
      missing.filter((name) => !own.includes(name)),
      words,
    ).toEqual([]);
  }
});

test('every indelible command in the documentation exists, with the options it is given', () => {
  const known = commands();
  const shell = blocks.filter(({ language }) => language === 'sh');
  const calls = shell.flatMap(({ file, code }) =>
    code
      .replaceAll('\\\n', ' ')
      .split('\n')
      .flatMap((line) => /(?:(?:^|npx )indelible|cli\/src\/main\.ts) ([^|]*)/.exec(line)?.[1] ?? [])
      .map((call) => ({ file, call })),
  );
  expect(calls.length).toBeGreaterThan(10);
  for (const { file, call } of calls) {
    const words = [...known.keys()].find((name) => `${call} `.startsWith(`${name} `));
    expect(words, `${file}: indelible ${call}`).toBeDefined();
    const unquoted = call.replace(/'[^']*'|"[^"]*"/g, '');
    const options = unquoted.split(/\s+/).filter((word) => /^--?[a-z]/.test(word));
    const unknown = options.filter((name) => !known.get(words ?? '')?.has(name));
    expect(unknown, `${file}: indelible ${call}`).toEqual([]);
  }
});

test('each control of the security page names tests that exist, in their own words', () => {
  const named = [
    ...read('docs/security.md').matchAll(/\[[^\]]+\]\(([^)]+\.test\.ts)\) “([^”]+)”/g),
  ];
  expect(named.length).toBeGreaterThan(20);
  const absent = named.filter(([, path = '', title = '']) => {
    const file = join(root, 'docs', path);
    return !existsSync(file) || !readFileSync(file, 'utf8').includes(title);
  });
  expect(absent.map(([, path, title]) => `${path} ${title}`)).toEqual([]);
  const rows = [...read('docs/security.md').matchAll(/^\| (?!---|Attack)(.*) \|$/gm)];
  expect(rows.filter(([row]) => !row.includes('.test.ts)')).map(([row]) => row)).toEqual([]);
});
