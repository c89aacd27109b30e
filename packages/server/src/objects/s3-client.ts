import type { S3Client } from '@aws-sdk/client-s3';
import { connectionProblem } from '../postgres/db.ts';
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
      // The time of inactivity; long, because a slow reader of a download also counts.
      socketTimeout: 120_000,
    },
  });
  client.middlewareStack.add(
    (next) => (args) =>
      next(args).catch((error: unknown) => {
        explain(error, location);
        throw error;
      }),
    { step: 'initialize' },
  );
  return { sdk, client, location };
}

/** Changes the message, which system, SDK or store wrote: names the store, and what to do next. */
export function explain(error: unknown, { bucket, endpoint }: S3Location): void {
  if (!(error instanceof Error) || error.name === 'AbortError') return;
  const store = endpoint === null ? 'Amazon S3' : new URL(endpoint).host;
  const status = statusOf(error);
  const failed = status === undefined ? 'cannot be used' : `answers ${status}`;
  const why = [error.name === 'Error' ? '' : error.name, connectionProblem(error)];
  error.message = `the object store at ${store}, bucket ${bucket}, ${failed}: ${why.filter(Boolean).join(': ')}; ${adviceFor(error, status)}`;
}

function adviceFor({ name }: Error, status: number | undefined): string {
  if (name === 'CredentialsProviderError')
    return 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another source of credentials';
  if (status === undefined) return 'check that it runs, and that OBJECT_STORE_URL names it';
  if (status === 401 || status === 403)
    return 'check the credentials, and their rights to the bucket';
  if (status === 404) return 'check that OBJECT_STORE_URL names a bucket that exists';
  return 'look into the log of the object store, and try again';
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
