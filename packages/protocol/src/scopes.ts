/** What a credential may do; no scope implies another. */
export const scopes = [
  'events:write',
  'events:read',
  'exports:write',
  'restore:write',
  'webhooks:write',
  'alerts:write',
  'tenants:write',
  'viewer-links:write',
] as const;
export type Scope = (typeof scopes)[number];
