import { isIP } from 'node:net';
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
  pointerOf,
} from '@indelible/protocol';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { isMailAddress, isOutboundUrl } from '../outbound/outbound-url.ts';
import { isIpRange } from './ip-range.ts';

/** The formats of our schemas. */
export const formats: Record<string, (text: string) => boolean> = {
  uuid: isUuid,
  'date-time': (text) => parseTimestamp(text) !== null,
  // `maxLength` checks the length, so that one fault is reported once. A leading `!` is allowed: it
  // only prevents filtering, and a sign-in attempt under such a name must be recorded.
  email: (text: string) => text.length > emailLengthMax || isEmail(text.replace(/^!+/, '')),
  'mail-address': (text: string) => text.length > emailLengthMax || isMailAddress(text),
  role: isRole,
  visible: isVisible,
  'external-id': isExternalId,
  'time-zone': isTimeZone,
  'outbound-url': isOutboundUrl,
  'ip-range': isIpRange,
  'panel-path': isPanelPath,
  ip: (text) => isIP(text) !== 0 && !text.includes('%'),
};

/** What a message calls a format, if not by its name. */
const formatNames: Record<string, string> = {
  uuid: 'UUID',
  'date-time': 'ISO 8601 time',
  email: 'e-mail address',
  'mail-address': 'e-mail address',
  visible: 'text with a visible character',
  'external-id': 'id of visible characters without a leading !',
  'time-zone': 'IANA time zone, such as Europe/Berlin',
  'outbound-url': 'address (http or https)',
  'ip-range': 'IP address or range, such as 192.0.2.0/24',
  ip: 'IP address',
};

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
    return `is not a valid ${formatNames[params.format] ?? String(params.format)}`;
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  // A description says the rule in words; the pattern itself is for programs.
  if (keyword === 'pattern' && parentSchema?.description)
    return `is not of this form: ${String(parentSchema.description)}`;
  return message ?? 'is not valid';
}
