import { outcomeSaid } from '@indelible/protocol';
import { jsonObject } from '../../outbound/answers.ts';
import { failed, fine, get, post, said, statusVerdict } from './answers.ts';
import { type EventParts, eventParts, summary } from './event-parts.ts';
import type { EventBatch, FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';
import {
  callUrl,
  oneOf,
  plainText,
  soundCredential,
  unspacedProblem,
  urlCheck,
} from './value-checks.ts';

/**
 * Datadog's logs intake: `POST /api/v2/logs`, one JSON array of logs. Reserved attributes
 * (`ddsource`, `ddtags`, `hostname`, `service`, `message`), standard ones (`usr.*`,
 * `network.client.ip`, `http.useragent`, `evt.*`) and the event under `indelible`. Datadog does
 * not deduplicate: a log sent twice is stored twice.
 * From docs.datadoghq.com: "Send logs" (at most 5 MB and 1,000 logs a request, 1 MB a log,
 * timestamps up to 18 hours old, statuses), "Validate API key", "Log Date Remapper" (attributes for
 * the official time) and "Standard attributes".
 */
export const datadog = {
  options: {
    ddsource: plainText(200),
    ddtags: tagsProblem,
    hostname: plainText(255),
    service: plainText(200),
    diff: oneOf('object', 'text'),
  },
  credential: 'required',
  // Five megabytes, minus the overhead of a hundred events; a diff as text may be twice as long.
  messageBytesMax: 2_000_000,
  credentialProblem: unspacedProblem,
  urlProblem: urlCheck('dd-api-key', 'api_key'),
  deliver(target, batch) {
    const logs = batch.events.map((text) => logOf(eventParts(text), target, batch));
    const url = urlOf(target.url, 'http-intake.logs', '/api/v2/logs');
    return post(url, `[${logs.join(',')}]`, apiKey(target));
  },
  judge: (status, text) => (status === 202 || status === 200 ? fine : refusal(status, text)),
  health: (target) => get(urlOf(target.url, 'api', '/api/v1/validate'), apiKey(target)),
  judgeHealth(status, text) {
    if (status !== 200) return refusal(status, text);
    if (jsonObject(text).valid === true) return fine;
    return failed('the server at this address is not Datadog, or does not know the key');
  },
} satisfies MessageFormat;

const oldestMs = 17.5 * 3_600_000;

function logOf(parts: EventParts, target: MessageTarget, { nowMs }: EventBatch): string {
  const { ddsource = 'indelible', ddtags, hostname, service = 'indelible', diff } = target.options;
  const { fields } = parts;
  const { actor, action, category, timestamp } = fields;
  // Datadog accepts and then drops a log older than 18 hours, so an older event gets its time of
  // arrival. `indelible.timestamp` has its own time in any case.
  const isRecent = nowMs - Date.parse(timestamp) < oldestMs;
  const head = JSON.stringify({
    ddsource,
    ddtags,
    hostname,
    service,
    ...(isRecent ? { timestamp } : {}),
    message: summary(fields),
    usr: { id: actor.id, email: actor.email ?? undefined, name: actor.name, role: actor.role },
    network: actor.ip === null ? undefined : { client: { ip: actor.ip } },
    http: actor.userAgent === null ? undefined : { useragent: actor.userAgent },
    evt: { name: action, category, outcome: outcomeSaid(fields.outcome, action) ?? undefined },
  });
  const whole = diff === 'text' ? parts.flatText : parts.text;
  return `${head.slice(0, -1)},"indelible":${whole}}`;
}

/** Hosts such as `datadoghq.eu`, `app.datadoghq.com`, `us3.datadoghq.com`, or the intake's. */
const site =
  /^(?:http-intake\.logs\.|app\.|api\.|www\.)?((?:[a-z0-9-]+\.)?(?:datadoghq\.com|datadoghq\.eu|ddog-gov\.com))$/;
const paths = /\/(api\/v2\/logs|api\/v1\/validate|v1\/input)$/;

/** Intake and key check are different hosts at Datadog, but one behind a proxy. */
function urlOf(entered: string, host: string, path: string): string {
  const url = new URL(entered);
  const [, name] = site.exec(url.hostname) ?? [];
  return name === undefined ? callUrl(entered, paths, path) : `https://${host}.${name}${path}`;
}

function apiKey({ credential }: MessageTarget): Record<string, string> {
  return { 'dd-api-key': soundCredential(credential, unspacedProblem) };
}

function tagsProblem(value: string): string | null {
  const tags = value.split(',');
  if (tags.length > 100) return 'has more than 100 tags';
  const wrong = tags.find((tag) => !/^\p{L}[^\s,\p{Cc}\p{Cs}]{0,199}$/u.test(tag));
  if (wrong === undefined) return null;
  return 'is not a list of tags like env:prod,team:security (each begins with a letter, no spaces)';
}

function refusal(status: number, text: string): FormatVerdict {
  if (status === 401 || status === 403) {
    const hint = 'check the key, that it is an API key, and the site in the URL';
    return failed(`Datadog does not accept the API key (${status}): ${hint}`);
  }
  return statusVerdict('Datadog', status, firstError(text));
}

/** `{"errors": ["…"]}` or `{"errors": [{"title": "…", "detail": "…"}]}`. */
function firstError(text: string): string {
  const { errors } = jsonObject(text);
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof first === 'string') return said(first);
  const { detail, title } = { detail: undefined, title: undefined, ...(first as object) };
  return said(detail) || said(title);
}
