import { expect } from 'vitest';
import type { Answer, TestService } from './service.ts';

/* What tests look for in answers. */

export const codeOf = ({ status, body }: Pick<Answer, 'status' | 'body'>) => [status, body.code];

/** The members that a problem is about. */
export const pathsOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  body.errors.map(({ path }: { path: string }) => path);

/** The ids of a list, which come page by page as they come at once; it knows no other parameter. */
export async function idsListed({ call }: TestService, url: string, key: string) {
  const page = async (query: string) => {
    const { body } = await call({ url: `${url}?${query}`, key });
    return { ids: body.data.map(({ id }: { id: string }) => id) as string[], ...body.pagination };
  };
  const whole = await page('limit=500');
  const inPages: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { ids, nextCursor } = await page(`limit=2${cursor && `&cursor=${cursor}`}`);
    inPages.push(...ids);
    expect(ids.length).toBeLessThanOrEqual(2);
    cursor = nextCursor;
  }
  expect(inPages).toEqual(whole.ids);
  expect(codeOf(await call({ url: `${url}?page=2`, key }))).toEqual([400, 'unknown_parameter']);
  return whole.ids;
}
