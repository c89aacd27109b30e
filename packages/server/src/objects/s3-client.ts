import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Location } from './s3-location.ts';

/** A client with the values that every call needs. */
export interface S3 {
  sdk: typeof import('@aws-sdk/client-s3');
  client: S3Client;
  location: S3Location;
}

/** For requests with a small body; a large part may take longer. */
export const soon = { requestTimeout: 10_000 };

/** The SDK takes a tenth of a second and 20 MiB to load, so it is loaded on demand. */
export async function openS3(location: S3Location): Promise<S3> {
  const sdk = await import('@aws-sdk/client-s3');
  const { endpoint, region } = location;
  const client = new sdk.S3Client({
    ...(region === null ? {} : { region }),
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    // Other stores do not know this checksum; the signature covers the content anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 5_000,
      // Until the answer begins.
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
      // Of inactivity; long, because a slow reader of a download also counts.
      socketTimeout: 120_000,
    },
  });
  return { sdk, client, location };
}

/** The request members that name an object. */
export function bucketAndKey({ location }: S3, name: string): { Bucket: string; Key: string } {
  return { Bucket: location.bucket, Key: `${location.keyPrefix}${name}` };
}

/**
 * Who wrote the object, or null if absent. Every object has a random writer id, which shows after a
 * lost answer whether the object is ours.
 */
export async function writerOf(s3: S3, name: string): Promise<string | null> {
  const head = await s3.client
    .send(new s3.sdk.HeadObjectCommand(bucketAndKey(s3, name)), soon)
    .catch((error) => nullIf(statusOf(error) === 404, error));
  return head?.Metadata?.writer ?? null;
}

export async function removeObject(s3: S3, name: string): Promise<void> {
  await s3.client.send(new s3.sdk.DeleteObjectCommand(bucketAndKey(s3, name)), soon);
}

/** HTTP status of a refusal; undefined without an answer. */
export function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

export function nullIf(expected: boolean, error: unknown): null {
  if (expected) return null;
  throw error;
}
