import { expect, test } from 'vitest';
import { parseBase64 } from './bytes.ts';
import { formatTlogProof } from './tlog-proof.ts';

// c2sp.org/tlog-proof shows this proof, with an optional line that this log does not write.
const path = [
  'gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=',
  'B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=',
  'EKNzoDWG8LGC0Yp9o+sv3qllpMP9uHQ9B20KNL+Q1zs=',
  'RoopEkOdqkYqMB4MJXrbt/hMjOxsVn0IrWjpz1ZMMes=',
  'AHCioX9nLjsrse6YhjRRmk1WUEirVOLLRoOQ6vfO5vk=',
];
const checkpoint = `example.com/fancylog
109482
sFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=

— example.com/fancylog AAAAAAAA
`;

test('a proof is written in the form of C2SP tlog-proof', () => {
  const hashes = path.map((hash) => parseBase64(hash) as Uint8Array);
  expect(formatTlogProof({ index: 73894, path: hashes, checkpoint })).toBe(
    `c2sp.org/tlog-proof@v1\nindex 73894\n${path.join('\n')}\n\n${checkpoint}`,
  );
});

test('a proof of a log of one entry has no hashes', () => {
  expect(formatTlogProof({ index: 0, path: [], checkpoint })).toBe(
    `c2sp.org/tlog-proof@v1\nindex 0\n\n${checkpoint}`,
  );
});
