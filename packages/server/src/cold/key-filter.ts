import { hash } from 'node:crypto';
import { type EventFilter, type FacetName, facetOf, type ShownEvent } from '@indelible/protocol';

/*
 * Which values the events of an archive part have: a Bloom filter, so that a search opens few
 * parts. The database function `holds_key` looks keys up without reading the whole filter.
 */

/** Eight bits a key and six probes: one key of fifty is found by mistake. */
const bitsPerKey = 8;
const probes = 6;

/** A key as `holds_key` takes it: two numbers of 48 bits. */
export type Key = readonly [first: number, step: number];

export function keyOf(text: string): Key {
  const digest = hash('sha256', text, 'buffer');
  return [digest.readUIntBE(0, 6), digest.readUIntBE(6, 6)];
}

/** Collects the keys of events. */
export class KeyFilter {
  readonly #texts = new Set<string>();

  add(event: ShownEvent): void {
    for (const facet of indexedFacets) {
      for (const value of facetOf(facet).of(event)) {
        if (value !== null) this.#texts.add(`${facet}=${value}`);
      }
    }
  }

  bytes(): Buffer {
    const filter = Buffer.alloc(Math.max(1, Math.ceil((this.#texts.size * bitsPerKey) / 8)));
    for (const text of this.#texts) {
      const [first, step] = keyOf(text);
      for (let probe = 0; probe < probes; probe += 1) {
        const bit = (first + probe * step) % (8 * filter.length);
        filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
      }
    }
    return filter;
  }
}

/**
 * Not words, which have an index of their own. A facet that is added later stays out: the filters
 * of older parts lack its values, so a search for one would skip these parts.
 */
const indexedFacets: readonly FacetName[] = [
  ...(['user', 'action', 'resource', 'resourceId', 'crossTenant', 'category', 'ip'] as const),
  ...(['hasReason', 'outcome', 'actorType', 'onBehalfOf', 'correlationId'] as const),
];

/** A part that holds no key of one of these lists has no matching event. */
export function wantedKeys(filter: EventFilter): Key[][] {
  return indexedFacets.flatMap((facet) => {
    const values = filter[facet]?.any ?? [];
    return values.length === 0 ? [] : [values.map((value) => keyOf(`${facet}=${value}`))];
  });
}
