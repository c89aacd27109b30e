import type { Coverage, CoveredSource, SourceGap, UnknownValues } from '@indelible/protocol';
import type { RawAnswer } from '../http/transport.ts';
import type { EventCriteria } from './event-query.ts';
import { eventsPath, type JsonCalls } from './json-calls.ts';

/** The signed state of the log that a search covers; `rootHash` in hexadecimal. */
export interface SearchCheckpoint {
  size: number;
  rootHash: string;
  note: string;
}

export interface SearchInput {
  filters: EventCriteria;
  /** What it is to show. */
  note?: string | null;
  /** Saves also a search for persons or resources that occur in no event; it then says so. */
  unknown?: boolean;
}

/** A search saved as evidence. */
export interface SavedSearch {
  /** `srch_…` */
  id: string;
  /** The page of the panel that shows it. */
  url: string;
  /** The time range is absolute. */
  filters: EventCriteria;
  note: string | null;
  /**
   * Persons and resources of the query that occurred in no event: of them it proves nothing. Null
   * in lists for a search of an earlier build.
   */
  unknownValues: UnknownValues | null;
  createdAt: string;
  createdBy: { id: string; email: string | null };
  checkpoint: SearchCheckpoint | null;
  matched: { value: number };
  /** SHA-256 over the ids of the matches, newest first, joined by line feeds; hexadecimal. */
  digest: string;
}

/** A saved search, run again. */
export interface OpenedSearch extends SavedSearch {
  unknownValues: UnknownValues;
  now: {
    matched: { value: number };
    digest: string;
    /** Whether the result is the same now. */
    agrees: boolean;
    /** Whether it is the same for the events under the saved checkpoint. */
    earlierAgrees: boolean;
    /** Matches recorded after the saved checkpoint. */
    recordedSince: { value: number };
    /** Whether events of the range have expired since. */
    bodiesExpired: boolean;
    /** Whether an erasure has since emptied what the query compares. */
    erasedSince: boolean;
    checkpoint: SearchCheckpoint | null;
    coverage: Coverage;
    /** The sources that numbered their events in the range; other producers are not covered. */
    sources: CoveredSource[];
  };
}

/** A recorder or outbox that numbers its events. */
export interface Source {
  id: string;
  /** The key that sends it: under another key it is another source. */
  keyId: string;
  lastSequence: number;
  firstReceivedAt: string;
  lastReceivedAt: string;
  gaps: SourceGap[];
  /** Gaps may be missing from the list: too many, or a number came twice, last noticed then. */
  gapsDroppedAt: string | null;
  /** Whether it, and every other instance of it with this key, sends no more. */
  silent: boolean;
}

/** A live view: a search under a name, run anew whenever it is opened. */
export interface View extends Required<ViewInput> {
  /** `view_…` */
  id: string;
  /** The page of the panel that shows it. */
  url: string;
  createdAt: string;
  updatedAt: string;
  createdBy: { id: string; email: string | null };
}

export interface ViewInput {
  name: string;
  filters: EventCriteria;
  /** A relative time range of the panel, such as `7d`; not beside `from` and `to`. */
  last?: string | null;
  /** Columns of the panel's list. */
  columns?: string[] | null;
  /** Whether each person of the tenant has it. */
  shared: boolean;
}

export interface ViewCalls {
  /** Never repeated automatically: each call makes another view. */
  create(input: ViewInput): Promise<View>;
  get(id: string): Promise<View>;
  /** Shared ones and your own, newest first. */
  list(): AsyncGenerator<View, void, undefined>;
  /** Replaces all settings. */
  put(id: string, input: ViewInput): Promise<View>;
  remove(id: string): Promise<void>;
}

export interface SearchCalls {
  /**
   * Refused for a person or resource that occurs in no event, unless `unknown` is set. Never
   * repeated automatically: each call saves another search.
   */
  create(input: SearchInput): Promise<SavedSearch>;
  get(id: string): Promise<OpenedSearch>;
  /**
   * The evidence as one HTML file that verifies itself in a browser, without a network. Refused if
   * the range has too many events. Never repeated automatically: each call is recorded.
   */
  capsule(id: string): Promise<Uint8Array>;
  /** Newest first. */
  list(): AsyncGenerator<SavedSearch, void, undefined>;
}

export interface Restore {
  /** `rst_…` */
  id: string;
  /** `failed`: the host product neither applied nor refused it. */
  status: 'requested' | 'applied' | 'refused' | 'failed';
  reason: string | null;
  eventId: string;
  to: 'before' | 'after';
  /** The chosen members of the state; null: all of it. */
  fields: string[] | null;
  requestedAt: string;
  finishedAt: string | null;
}

export interface RestoreCalls {
  get(id: string): Promise<Restore>;
  /** Newest first; of one resource, or of all. */
  list(resourceId?: string): AsyncGenerator<Restore, void, undefined>;
}

export interface EvidenceCalls {
  /** Searches saved as evidence. */
  searches: SearchCalls;
  /** Searches under a name. */
  views: ViewCalls;
  /**
   * Requests that the host product sets a resource back to a state of this event, or only these
   * members of it. Never repeated automatically. If the answer is still `requested`, poll
   * `restores.get`.
   */
  restore(eventId: string, to: 'before' | 'after', fields?: readonly string[]): Promise<Restore>;
  restores: RestoreCalls;
  /** The producers that number their events, and what was not received from them. */
  sources(): Promise<Source[]>;
}

export function evidenceCalls({ get, every, post, put, remove }: JsonCalls): EvidenceCalls {
  const part = encodeURIComponent;
  return {
    searches: {
      create: (input) => post(searchesPath, input),
      get: (id) => get(`${searchesPath}/${part(id)}`),
      capsule: async (id) => {
        const path = `${searchesPath}/${part(id)}/capsule`;
        return (await post<RawAnswer>(path, undefined, { mediaType: 'text/html' })).bytes;
      },
      list: () => every(searchesPath),
    },
    views: {
      create: (input) => post(viewsPath, input),
      get: (id) => get(`${viewsPath}/${part(id)}`),
      list: () => every(viewsPath),
      put: (id, input) => put('PUT', `${viewsPath}/${part(id)}`, input),
      remove: (id) => remove(`${viewsPath}/${part(id)}`),
    },
    restore: (eventId, to, fields) =>
      post(`${eventsPath}/${part(eventId)}/restore`, { to, ...(fields && { fields }) }),
    sources: async () => (await get<{ data: Source[] }>('/api/sources')).data,
    restores: {
      get: (id) => get(`${restoresPath}/${part(id)}`),
      list: (id) => every(restoresPath, id === undefined ? [] : [['resource_id', id]]),
    },
  };
}

const viewsPath = '/api/views';
const searchesPath = `${eventsPath}/searches`;
const restoresPath = `${eventsPath}/restores`;
