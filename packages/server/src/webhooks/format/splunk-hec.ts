import { isSuccess, jsonObject } from '../../outbound/answers.ts';
import { failed, fine, get, post, said, statusVerdict } from './answers.ts';
import { eventParts } from './event-parts.ts';
import type { FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';
import { callUrl, plainText, soundCredential, unspacedProblem, urlCheck } from './value-checks.ts';

/**
 * Splunk's HTTP Event Collector: `POST services/collector/event`, concatenated envelopes in one
 * body, each with `time` in seconds since 1970 (with milliseconds), `host`, `source`, `sourcetype`,
 * `index` and the event. HEC does not deduplicate: an event sent twice is stored twice, and `dedup
 * id` finds it.
 * From help.splunk.com: "Format events for HTTP Event Collector" (envelope, authorization), "HTTP
 * Event Collector REST API endpoints" (`services/collector/health`) and "Troubleshoot HTTP Event
 * Collector" (the codes 0 to 27). Splunk Cloud recommends at most 1 MB a request.
 */
export const splunkHec = {
  options: {
    host: plainText(255),
    source: plainText(255),
    sourcetype: plainText(255),
    // Index names: lower case, digits, underscores and hyphens, beginning with a letter or digit.
    index: (value) =>
      /^[a-z0-9][a-z0-9_-]{0,79}$/.test(value)
        ? null
        : 'is not a name of a Splunk index (lower case, digits, _ and -)',
  },
  credential: 'required',
  messageBytesMax: 1_000_000,
  credentialProblem: tokenProblem,
  urlProblem: urlCheck('token'),
  deliver(target, { events }) {
    const { host, source = 'indelible', sourcetype = 'indelible:audit', index } = target.options;
    // Members without a value are omitted, so that the token's own settings apply.
    const common = JSON.stringify({ host, source, sourcetype, index }).slice(1, -1);
    const body = events.map((text) => {
      const ms = Date.parse(eventParts(text).fields.timestamp);
      return `{"time":${(ms / 1_000).toFixed(3)},${common},"event":${text}}`;
    });
    const url = callUrl(target.url, collector, '/services/collector/event');
    return post(url, body.join('\n'), authorization(target));
  },
  judge: (status, text) => verdict(status, text, [0, 24, 25]),
  health: (target) =>
    get(callUrl(target.url, collector, '/services/collector/health'), authorization(target)),
  judgeHealth: (status, text) => verdict(status, text, [17, 24, 25]),
} satisfies MessageFormat;

const collector = /\/services(\/collector(\/.*)?)?$/;

function tokenProblem(token: string): string | null {
  if (/^Splunk\s/i.test(token)) return 'begins with “Splunk”: give the token alone';
  return unspacedProblem(token);
}

function authorization({ credential }: MessageTarget): { authorization: string } {
  return { authorization: `Splunk ${soundCredential(credential, tokenProblem)}` };
}

/** By the code, if there is one: proxies and load balancers answer without. */
function verdict(status: number, text: string, good: readonly number[]): FormatVerdict {
  const answer = jsonObject(text);
  const code = answer.code;
  if (typeof code !== 'number') return statusVerdict('Splunk', status, said(text));
  if (isSuccess(status) && good.includes(code)) return fine;
  const known = codes[code] ?? (isSuccess(status) ? `answered ${status}` : undefined);
  if (!known) return statusVerdict('Splunk', status, `code ${code}`);
  const at = answer['invalid-event-number'];
  const where = typeof at === 'number' ? ` at event ${at} of the message` : '';
  return failed(`Splunk ${known} (code ${code})${where}`);
}

const codes: Record<number, string> = {
  1: 'says that the token is disabled',
  2: 'was given no token',
  3: 'cannot read the authorization',
  4: 'does not know the token',
  5: 'found no data in the message',
  6: 'cannot read the data',
  7: 'does not let the token write to this index',
  8: 'had an internal error',
  9: 'is busy',
  10: 'wants a data channel: turn indexer acknowledgement off for this token',
  11: 'finds the data channel invalid: turn indexer acknowledgement off for this token',
  12: 'misses the event',
  13: 'finds an event blank',
  14: 'says that acknowledgement is disabled',
  15: 'cannot handle the indexed fields',
  16: 'does not take a token from the query',
  18: 'is not healthy, its queues are full',
  19: 'is not healthy, its acknowledgement service is unavailable',
  20: 'is not healthy, its queues are full and acknowledgement is unavailable',
  21: 'does not know the token',
  22: 'says that the token is disabled',
  23: 'is shutting down',
  26: 'has a full queue',
  27: 'has a full acknowledgement channel',
};
