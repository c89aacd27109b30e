import { expect } from 'vitest';
import type { Answer, TestService } from './service.ts';

/* What tests look for in answers. */

export const codeOf = ({ status, body }: Pick<Answer, 'status' | 'body'>) => [status, body.code];

/** The members that a problem is about. */
export const pathsOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  body.errors.map(({ path }: { path: string }) => path);

/** The ids of a page. */
export const idsOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  body.data.map(({ id }: { id: string }) => id);

/** What became of each event of a batch: its status, or why it was rejected. */
export const outcomesOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  body.results.map(({ status, error }: { status: string; error?: { code: string } }) =>
    error ? error.code : status,
  );

/** The ids of a list, which come page by page as they come at once; it knows no other parameter. */
export async function idsListed({ call }: TestService, url: string, key: string) {
  const page = async (query: string) => {
    const answer = await call({ url: `${url}?${query}`, key });
    const { nextCursor, hasMore } = answer.body.pagination;
    return { ids: idsOf(answer), nextCursor: nextCursor as string | null, hasMore };
  };
  const whole = await page('limit=500');
  const inPages: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { ids, nextCursor, hasMore } = await page(`limit=2${cursor && `&cursor=${cursor}`}`);
    inPages.push(...ids);
    expect(hasMore).toBe(nextCursor !== null);
    expect(ids.length).toBeLessThanOrEqual(2);
    cursor = nextCursor;
  }
  expect(inPages).toEqual(whole.ids);
  expect(codeOf(await call({ url: `${url}?page=2`, key }))).toEqual([400, 'unknown_parameter']);
  return whole.ids;
}
