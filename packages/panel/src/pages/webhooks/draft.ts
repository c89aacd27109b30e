import type { Webhook, WebhookFormat, WebhookInput, WebhookType } from '@indelible/client';
import { filterToJson } from '@indelible/protocol';
import { searchOfCriteria } from '../../search/criteria.ts';
import type { Facets } from '../../search/event-search.ts';
import { formatFields } from './formats.ts';

/** What an endpoint may be told of, in the order in which it is offered. */
const messageTypes = ['audit.events.recorded', 'audit.export.ready'] as const;

/** What this format can tell of: log platforms are for events. */
export function typesOf(format: WebhookFormat): readonly WebhookType[] {
  return format === 'webhook' ? messageTypes : ['audit.events.recorded'];
}

/** An endpoint as it is being entered; empty texts are values that are not there. */
export interface Draft {
  name: string;
  url: string;
  format: WebhookFormat;
  types: readonly string[];
  facets: Facets;
  options: Readonly<Record<string, string>>;
  /** Entered anew; empty keeps the one there is, unless that is to be forgotten. */
  credential: string;
  forgetCredential: boolean;
}

export const emptyDraft: Draft = {
  ...{ name: '', url: '', format: 'webhook', types: ['audit.events.recorded'], facets: {} },
  ...{ options: {}, credential: '', forgetCredential: false },
};

export function draftOf({ name, url, format, types, filters, options }: Webhook): Draft {
  const { facets } = searchOfCriteria(filters);
  return { ...emptyDraft, name: name ?? '', url, format, types, facets, options };
}

/**
 * Another format: a credential that was entered for
 * the receiver of the one before is not for this one.
 */
export function inFormat(format: WebhookFormat): Partial<Draft> {
  return { format, types: ['audit.events.recorded'], credential: '' };
}

/** The whole input: also what was emptied, so that a change empties it too. */
export function inputOf(draft: Draft): WebhookInput {
  const { url, format, facets, types } = draft;
  const options = formatFields[format].options.flatMap(({ name }) => {
    const value = draft.options[name]?.trim() ?? '';
    return value === '' ? [] : [[name, value]];
  });
  return {
    name: draft.name.trim() === '' ? null : draft.name.trim(),
    url: url.trim(),
    format,
    types: typesOf(format).filter((type) => types.includes(type)),
    filters: filterToJson(facets),
    options: Object.fromEntries(options),
    ...credentialOf(draft),
  };
}

function credentialOf({ format, credential, forgetCredential }: Draft): {
  credential?: string | null;
} {
  const takesOne = formatFields[format].credential !== 'none';
  if (takesOne && credential.trim() !== '') return { credential: credential.trim() };
  return forgetCredential ? { credential: null } : {};
}

/**
 * Whether the stored credential goes on being used. The service asks for it again when the receiver
 * or the format is another one: it was given for that one alone.
 */
export function keepsCredential({ format, url }: Draft, stored: Webhook | null): boolean {
  if (stored === null || !stored.hasCredential || format !== stored.format) return false;
  return originOf(url) === originOf(stored.url);
}

function originOf(url: string): string | null {
  return URL.canParse(url.trim()) ? new URL(url.trim()).origin : null;
}
