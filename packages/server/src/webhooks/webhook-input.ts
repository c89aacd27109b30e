import {
  boundNames,
  type FieldProblem,
  facetNames,
  filterToJson,
  parseFilterBody,
  pointerOf,
} from '@indelible/protocol';
import type { Static } from 'typebox';
import { invalid } from '../http/problem.ts';
import { refusalOf } from '../outbound/outbound.ts';
import { isOutboundUrl } from '../outbound/outbound-url.ts';
import { formats } from './formats.ts';
import { readHeaders } from './own-headers.ts';
import type { WebhookChange } from './schemas.ts';
import type { WebhookSettings } from './store.ts';

export type WebhookPatch = Static<typeof WebhookChange>;

/** The former settings; for a new webhook its defaults. */
type Former = WebhookSettings & { hasCredential: boolean; headerNames: readonly string[] };

export const newcomer: Former = {
  name: null,
  url: '',
  format: 'webhook',
  types: ['audit.events.recorded'],
  filters: '{}',
  options: '{}',
  hasCredential: false,
  headerNames: [],
};

/**
 * The settings after a change whose shape the schema has checked, and changes of sealed values
 * (`credential` undefined: unchanged). Throws `validation_failed` with
 * every problem. `allowPrivate` as for calls: a URL that could never be called is refused here.
 */
export function readSettings(former: Former, patch: WebhookPatch, allowPrivate: boolean) {
  const { name, url, format, types, options } = { ...shapeOf(former), ...patch };
  const { credential } = patch;
  const problems = [
    ...urlProblems(url, format, allowPrivate),
    ...typeProblems(types, format),
    ...optionProblems(options, format),
    ...credentialProblems(credential, former, { url, format }),
  ];
  const filters =
    patch.filters === undefined ? former.filters : readFilters(patch.filters, problems);
  const kept = { names: former.headerNames, isSameReceiver: sameOrigin(url, former.url) };
  const headers = readHeaders(patch.headers ?? {}, kept, format, problems);
  if (problems.length > 0) throw invalid(problems);
  const settings = { name, url, format, types, filters, options: JSON.stringify(options) };
  return {
    settings,
    credential: formats[format].credential === 'none' ? null : credential,
    headers,
  };
}

const shapeOf = ({ name, url, format, types, options }: Former) => {
  return { name, url, format, types, options: JSON.parse(options) as Record<string, string> };
};

type Format = WebhookSettings['format'];
const problem = (path: string, message: string, code = 'invalid_value'): FieldProblem => {
  return { path, code, message };
};

function urlProblems(url: string, format: Format, allowPrivate: boolean): FieldProblem[] {
  if (!isOutboundUrl(url)) {
    const message = 'must be an https URL of printable ASCII, without user name and password';
    return [problem('/url', message, 'invalid_format')];
  }
  const refusal = refusalOf(url, allowPrivate);
  if (refusal !== null) return [problem('/url', `cannot be called: ${refusal}`)];
  const unfit = formats[format].urlProblem(url);
  return unfit === null ? [] : [problem('/url', unfit)];
}

function typeProblems(types: readonly string[], format: Format): FieldProblem[] {
  if (formats[format].exportReady) return [];
  return types.flatMap((type, at) =>
    type === 'audit.export.ready'
      ? [problem(pointerOf('types', at), `is not a message of the format ${format}`)]
      : [],
  );
}

function optionProblems(options: Record<string, string>, format: Format): FieldProblem[] {
  const known = formats[format].options;
  const names = Object.keys(known);
  return Object.entries(options).flatMap(([name, value]) => {
    const path = pointerOf('options', name);
    if (!names.includes(name)) {
      const expected = names.length === 0 ? 'has no options' : `knows ${names.join(', ')}`;
      return [problem(path, `is unknown: the format ${format} ${expected}`, 'unknown_field')];
    }
    const wrong = known[name]?.(value) ?? null;
    return wrong === null ? [] : [problem(path, wrong)];
  });
}

function credentialProblems(
  credential: string | null | undefined,
  former: Former,
  { url, format }: { url: string; format: Format },
): FieldProblem[] {
  const { credential: need, credentialProblem } = formats[format];
  const path = '/credential';
  if (typeof credential === 'string') {
    const wrong = credentialProblem(credential);
    return wrong === null ? [] : [problem(path, wrong)];
  }
  if (need === 'none') return [];
  const keeps = credential === undefined && former.hasCredential;
  if (!keeps) {
    if (need === 'optional') return [];
    return [problem(path, `is required by the format ${format}`, 'required')];
  }
  // Otherwise a caller who may change the address could have the credential sent to its own.
  if (format === former.format && sameOrigin(url, former.url)) return [];
  return [problem(path, 'must be sent again when the receiver or format changes', 'required')];
}

function sameOrigin(one: string, other: string): boolean {
  const origin = (url: string) => (URL.canParse(url) ? new URL(url).origin : null);
  return origin(one) === origin(other);
}

/** The filter as canonical JSON text; equal filters are equal texts. */
function readFilters(json: unknown, problems: FieldProblem[]): string {
  const parsed = parseFilterBody(json, '/filters', facetNames);
  if ('filter' in parsed) return JSON.stringify(filterToJson(parsed.filter));
  const message = 'is not a filter of webhooks: they send events as they are recorded; see replay';
  const isTime = (path: string) => boundNames.some((name) => path === `/filters/${name}`);
  problems.push(
    ...parsed.problems.map((each) => (isTime(each.path) ? { ...each, message } : each)),
  );
  return '{}';
}
