import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { withProgress } from './progress.ts';

/** What is on the line of a terminal of this width while work is under way, and after it. */
async function shownOn(columns: number, total: number | null, note: string) {
  let written = '';
  const write = (chunk: Buffer, _: string, done: () => void) => {
    written += chunk;
    done();
  };
  const stderr = Object.assign(new Writable({ write }), { isTTY: true, columns });
  const line = () => written.slice(written.lastIndexOf('\r') + 1).replace('\u001b[K', '');
  const during = await withProgress({ stderr }, async (progress) => {
    progress.stage('entries', total);
    progress.advance(450_000);
    progress.note(note);
    return line();
  });
  return [during, line()];
}

test('a bar leaves room for the counts, and goes where there is none', async () => {
  const counts = ' 45%  entries 450,000 of 1,000,000';
  expect(await shownOn(80, 1_000_000, '')).toEqual([
    `${'='.repeat(18)}${'-'.repeat(22)}${counts}`,
    '',
  ]);
  expect(await shownOn(50, 1_000_000, '')).toEqual([`=======--------${counts}`, '']);
  expect(await shownOn(30, 1_000_000, '')).toEqual([counts.trim().slice(0, 29), '']);
  expect(await shownOn(80, null, '')).toEqual(['entries 450,000', '']);
});

test('no note of the service can write to the terminal, nor break the line', async () => {
  const [line = ''] = await shownOn(120, 1_000_000, `busy\u001b[2J\n${'x'.repeat(200)}`);
  expect(line).toContain('1,000,000  busy⟨U+001B⟩[2J⟨U+000A⟩x');
  expect(line).toHaveLength(119);
});
