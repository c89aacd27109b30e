import type {
  EventCriteria,
  Webhook,
  WebhookFormat,
  WebhookInput,
  WebhookType,
} from '@indelible/client';
import { formatFields } from './formats.ts';

/** The messages a webhook can get, in the order of the form. */
const messageTypes = [
  ...(['audit.events.recorded', 'audit.export.ready', 'audit.alert.raised'] as const),
] as const;

/** The messages of a format: streams get no exports. */
export function typesOf(format: WebhookFormat): readonly WebhookType[] {
  return messageTypes.filter((type) => format === 'webhook' || type !== 'audit.export.ready');
}

/** An own header in the form. */
export interface HeaderDraft {
  /** Unique in its list. */
  key: number;
  name: string;
  /** A new value; empty keeps the stored one. */
  value: string;
  isStored: boolean;
  /** A stored one that the update removes. */
  isRemoved: boolean;
}

/** An empty row for the end of this list. */
export function newHeader(headers: readonly HeaderDraft[]): HeaderDraft {
  const key = (headers.at(-1)?.key ?? -1) + 1;
  return { key, name: '', value: '', isStored: false, isRemoved: false };
}

/** A webhook in the form; an empty text is an absent value. */
export interface Draft {
  name: string;
  url: string;
  format: WebhookFormat;
  types: readonly string[];
  filters: EventCriteria;
  options: Readonly<Record<string, string>>;
  /** A new credential; empty keeps the stored one, unless `forgetCredential`. */
  credential: string;
  forgetCredential: boolean;
  headers: readonly HeaderDraft[];
}

/** A part of the form. */
export interface DraftProps {
  draft: Draft;
  edit: (change: Partial<Draft>) => void;
}

export const emptyDraft: Draft = {
  name: '',
  url: '',
  format: 'webhook',
  types: ['audit.events.recorded'],
  filters: {},
  options: {},
  credential: '',
  forgetCredential: false,
  headers: [],
};

export function draftOf(webhook: Webhook): Draft {
  const { name, url, format, types, filters, options, headerNames } = webhook;
  const headers = headerNames.map((each, key) => ({
    key,
    name: each,
    value: '',
    isStored: true,
    isRemoved: false,
  }));
  return { ...emptyDraft, name: name ?? '', url, format, types, filters, options, headers };
}

/** What may be stored: neither the credential nor the values of headers. */
export function withoutSecrets(draft: Draft): Draft {
  const headers = draft.headers.map((header) => ({ ...header, value: '' }));
  return { ...draft, credential: '', headers };
}

/** Changing the format drops the credential, which was entered for another receiver. */
export function inFormat(format: WebhookFormat): Partial<Draft> {
  return { format, types: ['audit.events.recorded'], credential: '' };
}

/** The complete input with emptied fields, so that an update also empties them. */
export function inputOf(draft: Draft): WebhookInput {
  const { url, format, filters, types } = draft;
  const options = formatFields[format].options.flatMap(({ name }) => {
    const value = draft.options[name]?.trim() ?? '';
    return value === '' ? [] : [[name, value]];
  });
  return {
    name: draft.name.trim() === '' ? null : draft.name.trim(),
    url: url.trim(),
    format,
    types: typesOf(format).filter((type) => types.includes(type)),
    filters,
    options: Object.fromEntries(options),
    ...credentialOf(draft),
    ...headersOf(draft),
  };
}

/** Only what changes: the service keeps the others. */
function headersOf({ headers }: Draft): Pick<WebhookInput, 'headers'> {
  const changes = headers.flatMap(({ name, value, isStored, isRemoved }) => {
    if (isRemoved) return [[name, null]];
    const isUntouched = isStored ? value === '' : name.trim() === '';
    return isUntouched ? [] : [[name.trim(), value.trim()]];
  });
  return changes.length === 0 ? {} : { headers: Object.fromEntries(changes) };
}

function credentialOf({ format, credential, forgetCredential }: Draft): {
  credential?: string | null;
} {
  const takesOne = formatFields[format].credential !== 'none';
  if (takesOne && credential.trim() !== '') return { credential: credential.trim() };
  return forgetCredential ? { credential: null } : {};
}

/**
 * Whether the stored credential stays in use. The service asks for it again when the receiver or
 * the format changes, because it was entered for one receiver.
 */
export function keepsCredential({ format, url }: Draft, stored: Webhook | null): boolean {
  if (stored === null || !stored.hasCredential || format !== stored.format) return false;
  return originOf(url) === originOf(stored.url);
}

function originOf(url: string): string | null {
  return URL.canParse(url.trim()) ? new URL(url.trim()).origin : null;
}
