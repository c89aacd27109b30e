import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { requireName, requireRange } from './object-name.ts';
import type { ByteRange, ObjectStore } from './object-store.ts';
import {
  bucketAndKey,
  explain,
  nullIf,
  openS3,
  removeObject,
  type S3,
  soon,
  statusOf,
  writerOf,
} from './s3-client.ts';
import { readS3Location } from './s3-location.ts';
import { uploadStream } from './s3-upload.ts';

const conflictsMax = 5;

/** The object that every installation uses to test conditional writes. */
const probeName = 'probes/put-if-absent';

/** Objects in an S3 bucket. The AWS SDK finds the credentials. */
export function s3Store(url: string): ObjectStore {
  const location = readS3Location(url);
  let opened: Promise<S3> | null = null;
  let probed: Promise<void> | null = null;
  /** For calls that concern this name. */
  const openFor = async (name: string) => {
    requireName(name);
    opened ??= openS3(location);
    return opened;
  };
  return {
    create: async () => {}, // the operator makes the bucket
    async putIfAbsent(name, body) {
      const s3 = await openFor(name);
      probed ??= probe(s3);
      await probed.catch((error) => {
        probed = null;
        throw error;
      });
      return putIfAbsent(s3, name, body);
    },
    async putStream(name, body, signal) {
      return uploadStream(await openFor(name), name, body, signal);
    },
    getStream: async (name, range) => getStream(await openFor(name), name, range),
    remove: async (name) => removeObject(await openFor(name), name),
    probe: async () => probe(await openFor(probeName)),
    list: async (prefix, after) => listNames(await openFor(prefix), prefix, after),
  };
}

/**
 * A store that ignores `If-None-Match` would overwrite published rounds, and a rewound database
 * would go unnoticed. One object is reused, so that nothing needs to be removed.
 */
async function probe(s3: S3): Promise<void> {
  const refused = async () =>
    !(await putConditionally(s3, probeName, Buffer.from('probe'), 'probe'));
  if ((await refused()) || (await refused())) return;
  throw new Error(
    'the object store of OBJECT_STORE_URL overwrites objects although it is told not to ' +
      '(it ignores If-None-Match), so checkpoints in it would guard nothing: use another one',
  );
}

/**
 * The SDK retries a request whose answer was lost, and then finds its own object. The object
 * therefore names its writer; otherwise a round of our own would look foreign.
 */
async function putIfAbsent(s3: S3, name: string, body: Uint8Array): Promise<boolean> {
  const writer = randomUUID();
  return (await putConditionally(s3, name, body, writer)) || (await writerOf(s3, name)) === writer;
}

/** False if the store says that the object exists. */
async function putConditionally(s3: S3, name: string, body: Uint8Array, writer: string) {
  const input = { ...bucketAndKey(s3, name), Body: body, Metadata: { writer }, IfNoneMatch: '*' };
  for (let conflicts = 0; ; conflicts++) {
    try {
      await s3.client.send(new s3.sdk.PutObjectCommand(input), soon);
      return true;
    } catch (error) {
      const status = statusOf(error);
      if (status === 412) return false;
      // Conflict: another request for this name is in progress and undecided.
      if (status !== 409 || conflicts === conflictsMax) throw error;
      await delay(50 * 2 ** conflicts);
    }
  }
}

async function getStream(s3: S3, name: string, range?: ByteRange) {
  if (range) requireRange(range);
  const Range = range && `bytes=${range.start}-${range.end}`;
  const command = new s3.sdk.GetObjectCommand({
    ...bucketAndKey(s3, name),
    ...(Range && { Range }),
  });
  try {
    const found = await s3.client.send(command, soon);
    const bytes = Number(range ? found.ContentRange?.split('/')[1] : found.ContentLength);
    const body: unknown = found.Body;
    if (body instanceof Readable && Number.isSafeInteger(bytes)) {
      // Before the reader sees it.
      body.once('error', (error) => explain(error, s3.location));
      return { bytes, body };
    }
    throw new Error('the object store answered without the bytes that were asked for');
  } catch (error) {
    if (statusOf(error) === 416) throw new RangeError('the range begins past the end');
    // A missing bucket is a configuration error, not a missing object.
    return nullIf(error instanceof s3.sdk.NoSuchKey, error);
  }
}

async function listNames(s3: S3, prefix: string, after?: string): Promise<string[]> {
  const { Bucket, Key } = bucketAndKey(s3, prefix);
  const names: string[] = [];
  const StartAfter = after && bucketAndKey(s3, after).Key;
  const wanted = { Bucket, Prefix: `${Key}/`, ...(StartAfter && { StartAfter }) };
  const pages = s3.sdk.paginateListObjectsV2({ client: s3.client }, wanted);
  for await (const { Contents = [] } of pages) {
    for (const { Key: key = '' } of Contents) names.push(key.slice(s3.location.keyPrefix.length));
  }
  return names.sort();
}
