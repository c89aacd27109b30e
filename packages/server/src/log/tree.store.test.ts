import { hash } from 'node:crypto';
import { entryBytes, rootAtSize } from '@indelible/protocol';
import { growLog } from '@indelible/testing/grow-log';
import { expectTreeIntact, naiveRoot, storedEntries } from '@indelible/testing/intact';
import { leafHashOf } from '@indelible/testing/one-history';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { readTenant, type TenantTx } from '../postgres/db.ts';
import { entriesFrom, LogDamaged } from './entries.store.ts';
import { tileBytes, treeNodes, treeReader } from './tree.store.ts';

const service = await testService();

const sha = (data: Uint8Array): Buffer => hash('sha256', data, 'buffer');

async function logOf(size: number): Promise<string> {
  const { id } = await service.tenant();
  await growLog(service, id, size);
  return id;
}

const leavesOf = async (tenantId: string) =>
  (await storedEntries(service, tenantId)).map(leafHashOf);

const read = <T>(tenantId: string, work: (tx: TenantTx) => Promise<T>) =>
  readTenant(service.db, tenantId, work);

test('every complete subtree has the hash of its leaves, and no other subtree has any', async () => {
  const size = 600;
  const id = await logOf(size);
  const leaves = await leavesOf(id);
  expect(leaves).toHaveLength(size);
  await read(id, async (tx) => {
    const nodes = treeNodes(tx, sha);
    for (let level = 0; 2 ** level <= 1024; level++) {
      const width = 2 ** level;
      for (const index of new Set([0, 1, Math.floor(size / width) - 1, Math.floor(size / width)])) {
        const own = leaves.slice(index * width, (index + 1) * width);
        const node = nodes(level, index);
        if (index < 0 || own.length < width) await expect(node).rejects.toThrow(LogDamaged);
        else expect(await node, `${level}/${index}`).toEqual(naiveRoot(own));
      }
    }
  });
  await expectTreeIntact(service, id);
});

test('all questions to a log at one time are read by one statement', async () => {
  const ids = [await logOf(300), await logOf(520)];
  const leaves = [await leavesOf(ids[0] ?? ''), await leavesOf(ids[1] ?? '')];
  let statements = 0;
  const { writer } = service.db;
  const counted: Pick<TenantTx, 'query'> = {
    query: (query) => {
      statements++;
      return writer.query(query);
    },
  };
  const readers = ids.map((id) => treeReader(counted, sha, id));
  const roots = readers.map((reader, n) => rootAtSize(sha, reader, leaves[n]?.length ?? 0));
  expect(await Promise.all(roots)).toEqual(leaves.map(naiveRoot));
  expect(statements).toBe(2);
  // Of what was read nothing is read again.
  const [first] = readers;
  expect(first && (await rootAtSize(sha, first, 290))).toEqual(
    naiveRoot(leaves[0]?.slice(0, 290) ?? []),
  );
  expect(statements).toBe(2);
});

test('a reader that failed fails those who asked, and reads again for the next', async () => {
  const id = await logOf(5);
  let broken = true;
  const { writer } = service.db;
  const once: Pick<TenantTx, 'query'> = {
    query: (query) => {
      if (!broken) return writer.query(query);
      broken = false;
      return Promise.reject(new Error('gone'));
    },
  };
  const nodes = treeReader(once, sha, id);
  await expect(Promise.all([nodes(0, 1), nodes(0, 2)])).rejects.toThrow('gone');
  await expect(nodes(0, 300)).rejects.toThrow(RangeError);
});

test('an entry that is missing in between is never taken for its neighbour', async () => {
  const id = await logOf(300);
  const tile = { level: 'entries' as const, index: 1, width: 10 };
  const bytes = (
    wanted: typeof tile | { level: number; index: number; width: number },
    size = 300,
  ) => read(id, (tx) => tileBytes(tx, sha, wanted, size));
  expect(await bytes(tile)).toHaveLength(10 * (2 + entryBytes));
  expect(await bytes(tile, 265)).toBeNull(); // a log of that length has no such tile
  await service.owner.query('DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 260', [id]);
  await expect(bytes(tile)).rejects.toThrow(LogDamaged);
  await expect(bytes({ ...tile, level: 0 })).rejects.toThrow(LogDamaged);
  await expect(read(id, (tx) => treeNodes(tx, sha)(0, 256))).rejects.toThrow(LogDamaged);
  // The tile before it is whole.
  expect(await read(id, (tx) => treeNodes(tx, sha)(8, 0))).toHaveLength(32);
});

test('a tile that is missing in between leaves a gap in the level above', async () => {
  const id = await logOf(4 * 256);
  const tile = { level: 1, index: 0, width: 2 };
  const bytes = () => read(id, (tx) => tileBytes(tx, sha, tile, 4 * 256));
  expect(await bytes()).toHaveLength(64);
  await service.owner.query(
    'DELETE FROM log_tiles WHERE tenant_id = $1 AND level = 0 AND index = 1',
    [id],
  );
  await expect(bytes()).rejects.toThrow(LogDamaged);
});

test('stored entries are read in order up to the first gap', async () => {
  const id = await logOf(700);
  const all = async () => {
    const entries: Uint8Array[] = [];
    await read(id, async (tx) => {
      for await (const part of entriesFrom(tx, id, 0)) entries.push(...part);
    });
    return entries.map(leafHashOf);
  };
  const leaves = await leavesOf(id);
  expect(await all()).toEqual(leaves);
  await service.owner.query('DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 600', [id]);
  expect(await all()).toEqual(leaves.slice(0, 600));
  await service.owner.query(
    'DELETE FROM log_tiles WHERE tenant_id = $1 AND level = 0 AND index = 1',
    [id],
  );
  expect(await all()).toEqual(leaves.slice(0, 256));
});

test("another tenant's tiles cannot be read, though the call asks for them", async () => {
  const [own, other] = [await logOf(10), await logOf(10)];
  await read(own, async (tx) => {
    await expect(treeReader(tx, sha, other)(0, 3)).rejects.toThrow(RangeError);
    expect(await treeReader(tx, sha, own)(0, 3)).toHaveLength(32);
  });
});
