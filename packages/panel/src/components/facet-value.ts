import type { FacetName } from '@indelible/protocol';

/** A value that can be filtered by: its menu offers "only this" and "not this". */
export interface FacetValue {
  facet: FacetName;
  value: string;
  /** Its display text. */
  label: string;
  /** The resource whose versions the menu links to. */
  resourceId?: string;
}
