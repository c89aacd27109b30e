import { isName } from './object-name.ts';

/** The location of objects in S3. `endpoint` null: AWS; `region` null: from the SDK. */
export interface S3Location {
  bucket: string;
  /** Prefix of every key: empty, or ends in `/`. */
  keyPrefix: string;
  endpoint: string | null;
  region: string | null;
}

/**
 * Reads `s3://bucket/prefix?endpoint=…&region=…`. Throws a sentence that names OBJECT_STORE_URL
 * without quoting the URL. Unknown parameters are refused: a misspelt `endpoint` would lead to AWS.
 */
export function readS3Location(url: string): S3Location {
  const { hostname, pathname, searchParams, username, password, port, hash } = new URL(url);
  const need = (fine: boolean, sentence: string) => {
    if (!fine) throw new Error(`OBJECT_STORE_URL, which starts with s3:, ${sentence}`);
  };
  const secret = username !== '' || password !== '';
  need(!secret, 'must hold no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  const isBucket = /^[a-z0-9][a-z0-9.-]{2,62}$/.test(hostname) && port + hash === '';
  need(isBucket, `must name a bucket, of 3 to 63 a-z, 0-9, . and -; it names “${hostname}”`);
  const prefix = pathname.replace(/^\/|\/$/g, '');
  need(prefix === '' || isName(prefix), 'has an invalid prefix');
  const known = [...searchParams.keys()].every((key) => key === 'endpoint' || key === 'region');
  need(known, 'takes only the parameters endpoint and region');
  const endpoint = searchParams.get('endpoint');
  need(endpoint === null || isHttpUrl(endpoint), 'has an endpoint that is not an http(s) URL');
  // Other stores mostly ignore the region, but a signature needs one.
  const region = searchParams.get('region') ?? (endpoint === null ? null : 'us-east-1');
  need(region === null || /^[a-z0-9-]+$/.test(region), 'has an invalid region');
  return { bucket: hostname, keyPrefix: prefix === '' ? '' : `${prefix}/`, endpoint, region };
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
