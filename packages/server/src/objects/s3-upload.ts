import { randomUUID } from 'node:crypto';
import { bucketAndKey, removeObject, type S3, soon, writerOf } from './s3-client.ts';
import { untilAborted } from './until-aborted.ts';

/** S3 accepts 10,000 parts, so an object has at most 78 GiB. */
const partBytes = 8 * 2 ** 20;
const partsMax = 10_000;

/**
 * See ObjectStore.putStream. Two alternating buffers: one is filled while the other is sent. (The
 * SDK's own Upload makes new ones for each part, 65 MiB of garbage, and reports an abort while its
 * requests are still running, so that parts and objects appear afterwards.)
 */
export async function uploadStream(
  s3: S3,
  name: string,
  body: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<{ bytes: number }> {
  const writer = randomUUID();
  let bytes = 0;
  const broken = new AbortController();
  const stop = AbortSignal.any([broken.signal, ...(signal ? [signal] : [])]);
  let parts: Awaited<ReturnType<typeof beginParts>> | null = null;
  let ending = false;
  try {
    for await (const { part, last } of partsOf(untilAborted(body, stop))) {
      bytes += part.byteLength;
      ending = last;
      if (last && parts === null) await putWhole(s3, name, part, writer);
      else {
        parts ??= await beginParts(s3, name, writer, broken);
        await parts.send(part, stop);
        if (last) await parts.complete();
      }
    }
  } catch (error) {
    await parts?.takeBack();
    // The last request may have succeeded although its answer was lost.
    const arrived = ending && (await writerOf(s3, name).catch(() => null)) === writer;
    if (!arrived) {
      stop.throwIfAborted();
      throw error;
    }
  }
  // Too late to stop it, so the object is removed.
  if (signal?.aborted) await removeObject(s3, name);
  signal?.throwIfAborted();
  return { bytes };
}

/** A part's bytes are valid until the part after the next one is requested. */
async function* partsOf(body: AsyncIterable<Uint8Array>) {
  let filling = Buffer.allocUnsafeSlow(partBytes);
  let sent = Buffer.allocUnsafeSlow(partBytes);
  let length = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.byteLength; ) {
      // A full part is sent when more data follows, so that the last one is known.
      if (length === partBytes) {
        yield { part: filling, last: false };
        [filling, sent, length] = [sent, filling, 0];
      }
      const piece = chunk.subarray(at, at + partBytes - length);
      filling.set(piece, length);
      length += piece.byteLength;
      at += piece.byteLength;
    }
  }
  yield { part: filling.subarray(0, length), last: true };
}

async function putWhole(s3: S3, name: string, body: Uint8Array, writer: string): Promise<void> {
  const input = { ...bucketAndKey(s3, name), Body: body, Metadata: { writer } };
  await s3.client.send(new s3.sdk.PutObjectCommand(input));
}

/**
 * One multipart upload, invisible until it is complete. `broken` is aborted if a part cannot be
 * sent, so that the source is not awaited.
 */
async function beginParts(s3: S3, name: string, writer: string, broken: AbortController) {
  const { client, sdk } = s3;
  const input = { ...bucketAndKey(s3, name), Metadata: { writer } };
  const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(input), soon);
  if (UploadId === undefined) throw new Error('the object store began an upload without an id');
  const target = { ...bucketAndKey(s3, name), UploadId };
  const done: { PartNumber: number; ETag: string | undefined }[] = [];
  let sending = Promise.resolve();
  let count = 0;
  const sendPart = async (PartNumber: number, Body: Uint8Array, abortSignal: AbortSignal) => {
    const command = new sdk.UploadPartCommand({ ...target, PartNumber, Body });
    const { ETag } = await client.send(command, { abortSignal });
    done.push({ PartNumber, ETag });
  };
  return {
    /** Resolves when the previous part is stored. */
    async send(part: Uint8Array, stop: AbortSignal): Promise<void> {
      await sending;
      if (++count > partsMax) throw new Error('an object on S3 can have 78 GiB at most');
      sending = sendPart(count, part, stop);
      sending.catch((error) => broken.abort(error));
    },
    async complete(): Promise<void> {
      await sending;
      const whole = { ...target, MultipartUpload: { Parts: done } };
      await client.send(new sdk.CompleteMultipartUploadCommand(whole));
    },
    /** Waits for the running part first; if this fails, the bucket's own rules remove the parts. */
    async takeBack(): Promise<void> {
      await sending.catch(() => {});
      await client.send(new sdk.AbortMultipartUploadCommand(target), soon).catch(() => {});
    },
  };
}
