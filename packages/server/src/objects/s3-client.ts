import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Location } from './s3-location.ts';

/** A client with what every call needs besides. */
export interface S3 {
  sdk: typeof import('@aws-sdk/client-s3');
  client: S3Client;
  location: S3Location;
}

/** Passed with requests whose body is small; one with a large part may take longer. */
export const soon = { requestTimeout: 10_000 };

/** The SDK takes a tenth of a second and 20 MiB to load, so only who uses it does. */
export async function openS3(location: S3Location): Promise<S3> {
  const sdk = await import('@aws-sdk/client-s3');
  const { endpoint, region } = location;
  const client = new sdk.S3Client({
    ...(region === null ? {} : { region }),
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    // Unknown to many other stores than AWS; the signature covers what we send in any case.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 5_000,
      // Until the answer begins.
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
      // Silence; long, because it also counts while a slow reader lets a download wait.
      socketTimeout: 120_000,
    },
  });
  return { sdk, client, location };
}

/** Where an object is, as requests name it. */
export function bucketAndKey({ location }: S3, name: string): { Bucket: string; Key: string } {
  return { Bucket: location.bucket, Key: `${location.keyPrefix}${name}` };
}

/**
 * Who wrote the object, or null when there is none. Every object carries a random writer, which
 * tells whether a write whose answer was lost is the one that arrived.
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

/** HTTP status of a refusal; undefined when there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

export function nullIf(expected: boolean, error: unknown): null {
  if (expected) return null;
  throw error;
}
