import { isSuccess, jsonObject } from '../../outbound/answers.ts';
import { failed, fine, get, post, said, statusVerdict } from './answers.ts';
import { ecsDocument } from './elastic-document.ts';
import { eventParts } from './event-parts.ts';
import type { FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';
import { callUrl, credentialProblem, oneOf, soundCredential, urlCheck } from './value-checks.ts';

/**
 * Elasticsearch and OpenSearch: `POST _bulk` in NDJSON, each event a `create` under its own id,
 * into an index or a data stream. For an existing document the item answers 409: nothing is stored
 * twice (in a data stream, within one backing index).
 * From elastic.co: "Bulk API" (body, items, the last line ends too), "Data streams" (only `create`,
 * a `@timestamp`), "Index names", "Rejected requests" (429); docs.opensearch.org has the same
 * calls.
 */
export const elastic = {
  options: { index: indexProblem, diff: oneOf('text', 'object') },
  credential: 'optional',
  messageBytesMax: 4_000_000,
  credentialProblem,
  urlProblem,
  deliver(target, { events }) {
    const { index = 'logs-indelible.audit-default', diff } = target.options;
    const lines = events.map((text) => {
      const parts = eventParts(text);
      const action = JSON.stringify({ create: { _index: index, _id: parts.fields.id } });
      return `${action}\n${ecsDocument(parts, diff !== 'object')}\n`;
    });
    const url = new URL(callUrl(target.url, bulk, '/_bulk'));
    // Requests only what `judge` reads: a hundred refused events would exceed the limit.
    url.searchParams.set('filter_path', readOfAnswer);
    const headers = { ...authorization(target), 'content-type': 'application/x-ndjson' };
    return post(url.href, lines.join(''), headers);
  },
  judge,
  health: (target) => get(callUrl(target.url, bulk, '/'), authorization(target)),
  judgeHealth,
} satisfies MessageFormat;

const bulk = /\/_bulk$/;
const ofItems = ['_id', 'status', 'error.type', 'error.reason'].map((each) => `items.*.${each}`);
const readOfAnswer = ['errors', 'error', ...ofItems].join();

function urlProblem(url: string): string | null {
  const problem = urlCheck()(url);
  if (problem !== null || !/[^/]\/_bulk\/*$/.test(new URL(url).pathname)) return problem;
  return 'has an index in front of _bulk: give the URL without both, and the index as an option';
}

/** `ApiKey …`, `Basic …` and `Bearer …` unchanged; `user:password` is Basic, others an API key. */
function authorization({ credential }: MessageTarget): Record<string, string> {
  if (credential === null) return {};
  const sound = soundCredential(credential, credentialProblem);
  if (/^(ApiKey|Basic|Bearer) \S+$/i.test(sound)) return { authorization: sound };
  if (!sound.includes(':')) return { authorization: `ApiKey ${sound}` };
  return { authorization: `Basic ${Buffer.from(sound).toString('base64')}` };
}

function indexProblem(name: string): string | null {
  if (name.length > 255) return 'is longer than 255 characters';
  if (/^[^A-Z\\/*?"<>| ,#:\p{Cc}\p{Cs}]+$/u.test(name) && !/^[-_+.]/.test(name)) return null;
  return 'is not the name of an index or data stream (lower case, none of \\ / * ? " < > | , # : or spaces)';
}

interface Item {
  _id?: string;
  status?: number;
  error?: { type?: string; reason?: string };
}

/** Success if each item was created, or existed already. */
function judge(status: number, text: string): FormatVerdict {
  const answer = jsonObject(text);
  if (status !== 200) return statusVerdict('Elasticsearch', status, errorOf(answer));
  if (answer.errors === false) return fine;
  const { items: results = [] } = answer;
  if (answer.errors !== true || !Array.isArray(results) || results.length === 0) {
    return failed('the server at this address does not answer like the bulk API');
  }
  const items = results.map(itemOf);
  const refused = items.filter(({ status = 0 }) => !isStored(status));
  const final = refused.find(({ status = 0 }) => status !== 429 && status < 500);
  const [first] = refused;
  if (!first) return fine;
  return failed(describe(final ?? first, refused.length));
}

/** The result of an item, under the name of its action; empty if there is none. */
function itemOf(item: unknown): Item {
  const [result] = Object.values({ ...(item as Record<string, Item>) });
  return { ...result };
}

const isStored = (status: number) => isSuccess(status) || status === 409;

function describe({ _id, status = 0, error }: Item, count: number): string {
  const others = count > 1 ? ` and ${count - 1} more` : '';
  const why = [said(error?.type, 100), said(error?.reason)].filter(Boolean).join(': ');
  return `Elasticsearch did not take event ${said(_id, 40)}${others} (${status}): ${why}`;
}

/** `{"error": {"type", "reason"}}`, or `{"error": "…"}`. */
function errorOf({ error }: Record<string, unknown>): string {
  if (typeof error === 'string') return said(error);
  const { type, reason } = { type: undefined, reason: undefined, ...(error as object) };
  return [said(type, 100), said(reason)].filter(Boolean).join(': ');
}

/** `GET /` names product and version; a key that may only write may not read that. */
function judgeHealth(status: number, text: string): FormatVerdict {
  const answer = jsonObject(text);
  if (status === 403 && errorOf(answer).includes('cluster:monitor/main')) return fine;
  if (status !== 200) return statusVerdict('Elasticsearch', status, errorOf(answer));
  const { version } = answer;
  const isKnown = typeof version === 'object' && version !== null && 'number' in version;
  if (isKnown) return fine;
  return failed('the server at this address is neither Elasticsearch nor OpenSearch');
}
