import {
  emailLengthMax,
  type FieldProblem,
  isEmail,
  isExternalId,
  isPanelPath,
  isRole,
  isTimeZone,
  isUuid,
  isVisible,
  parseTimestamp,
  plainIp,
  pointerOf,
} from '@indelible/protocol';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { isMailAddress, isOutboundUrl } from '../outbound/outbound-url.ts';
import { isIpRange } from './ip-range.ts';

interface Format {
  is: (text: string) => boolean;
  /** What a message calls it, if not by the format's own name. */
  name?: string;
}

const named: Record<string, Format> = {
  uuid: { is: isUuid, name: 'UUID' },
  'date-time': { is: (text) => parseTimestamp(text) !== null, name: 'ISO 8601 time' },
  // `maxLength` checks the length, so that one fault is reported once. A leading `!` is allowed: it
  // only prevents filtering, and a sign-in attempt under such a name must be recorded.
  email: {
    is: (text) => text.length > emailLengthMax || isEmail(text.replace(/^!+/, '')),
    name: 'e-mail address',
  },
  'mail-address': {
    is: (text) => text.length > emailLengthMax || isMailAddress(text),
    name: 'e-mail address',
  },
  role: { is: isRole },
  visible: { is: isVisible, name: 'text with a visible character' },
  'external-id': { is: isExternalId, name: 'id of visible characters without a leading !' },
  'time-zone': { is: isTimeZone, name: 'IANA time zone, such as Europe/Berlin' },
  'outbound-url': { is: isOutboundUrl, name: 'address (http or https)' },
  'ip-range': { is: isIpRange, name: 'IP address or range, such as 192.0.2.0/24' },
  'panel-path': { is: isPanelPath },
  ip: { is: (text) => plainIp(text) !== null, name: 'IP address' },
};

/** The formats of our schemas. */
export const formats = Object.fromEntries(Object.entries(named).map(([key, { is }]) => [key, is]));

const codes: Record<string, string> = {
  required: 'required',
  additionalProperties: 'unknown_field',
  type: 'invalid_type',
  maxLength: 'too_long',
  minLength: 'too_short',
  maxProperties: 'too_many',
  maxItems: 'too_many',
  minItems: 'too_few',
  enum: 'invalid_value',
  const: 'invalid_value',
  minimum: 'out_of_range',
  maximum: 'out_of_range',
};

/** An Ajv error as a field problem with a stable code. */
export function fieldProblem(error: ErrorObject): FieldProblem {
  const { instancePath, keyword, params } = error;
  const member = params.missingProperty ?? params.additionalProperty;
  const tokens = instancePath.split('/').slice(1).map(unescapeToken);
  if (member !== undefined) tokens.push(String(member));
  // Rewritten, because Ajv repeats long names and lone surrogates.
  const path = pointerOf(...tokens);
  return { path, code: codes[keyword] ?? 'invalid_format', message: messageOf(error) };
}

const unescapeToken = (token: string) => token.replaceAll('~1', '/').replaceAll('~0', '~');

function messageOf({ keyword, message, params, parentSchema }: ErrorObject): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not a field of this object';
  if (keyword === 'format')
    return `is not a valid ${named[params.format]?.name ?? String(params.format)}`;
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  // A description says the rule in words; the pattern itself is for programs.
  if (keyword === 'pattern' && parentSchema?.description)
    return `is not of this form: ${String(parentSchema.description)}`;
  return message ?? 'is not valid';
}
