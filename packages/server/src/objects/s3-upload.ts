import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { bucketAndKey, removeObject, type S3, writerOf } from './s3-client.ts';
import { untilAborted } from './until-aborted.ts';

/** S3 accepts 10,000 parts, so an object has at most 78 GiB. */
const partSize = 8 * 2 ** 20;

/**
 * See ObjectStore.putStream. One part at a time: a source that throws then ends the upload when no
 * other request runs, and the SDK takes the parts back. Its own `abort()` would reject at once,
 * while a part is on its way that appears afterwards.
 */
export async function uploadStream(
  s3: S3,
  name: string,
  body: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<{ bytes: number }> {
  const { Upload } = await import('@aws-sdk/lib-storage');
  const writer = randomUUID();
  let bytes = 0;
  async function* counted() {
    for await (const chunk of untilAborted(body, signal)) {
      bytes += chunk.byteLength;
      yield chunk;
    }
  }
  const params = {
    ...bucketAndKey(s3, name),
    // One chunk ahead at most: each may have megabytes.
    Body: Readable.from(counted(), { highWaterMark: 1 }),
    Metadata: { writer },
  };
  try {
    await new Upload({ client: s3.client, params, partSize, queueSize: 1 }).done();
  } catch (error) {
    // The last request may have succeeded although its answer was lost.
    const arrived = (await writerOf(s3, name).catch(() => null)) === writer;
    if (!arrived) {
      signal?.throwIfAborted();
      throw error;
    }
  }
  // Too late to stop it, so the object is removed.
  if (signal?.aborted) await removeObject(s3, name);
  signal?.throwIfAborted();
  return { bytes };
}
