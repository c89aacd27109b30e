import type { FacetName } from '@indelible/protocol';

/** A value that is a filter: its menu offers "only this" and "not this". */
export interface FacetValue {
  facet: FacetName;
  value: string;
  /** What people call it. */
  label: string;
  /** Of which resource versions can be looked at. */
  resourceId?: string;
}
