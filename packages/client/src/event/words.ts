import type { actionsByCategory, contactCenter } from '@indelible/protocol';

/** The standard actions, which every catalogue has. */
export type KnownAction = (typeof actionsByCategory)[keyof typeof actionsByCategory][number];
/** The resource types of the service's default catalogue. */
export type KnownResourceType = (typeof contactCenter)['resourceTypes'][number];

// Any text; written so that editors still offer the known words.
type AnyText = string & Record<never, never>;
export type AnyAction = KnownAction | AnyText;
export type AnyResourceType = KnownResourceType | AnyText;
