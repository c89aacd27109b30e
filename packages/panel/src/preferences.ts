import type { Locale } from '@indelible/protocol';
import { useSyncExternalStore } from 'react';
import { keep, kept } from './browser-store.ts';
import type { ZoneChoice } from './search/event-search.ts';
import type { ListView } from './search/list-view.ts';

/* The reader's choices, stored in this browser. */

export type Theme = 'system' | 'light' | 'dark';

export interface Preferences {
  theme: Theme;
  /** Null: the tenant's, or the browser's. */
  language: Locale | null;
  zone: ZoneChoice;
  /** Whether the list of events leaves out the service's routine. */
  foldsRoutine: boolean;
  /** The reader's choices for the list of events. */
  view: Partial<ListView>;
  /** `none`: the host's page around the panel has its own navigation. */
  chrome: 'full' | 'none';
}

const key = 'indelible.preferences';
const listeners = new Set<() => void>();
let current: Preferences = {
  theme: 'system',
  language: null,
  zone: 'tenant',
  foldsRoutine: false,
  view: {},
  chrome: 'full',
  ...stored(),
};

function stored(): Partial<Preferences> {
  return kept(key) ?? {};
}

/** Stores a choice and applies it at once. */
export function prefer(choice: Partial<Preferences>): void {
  keep(key, { ...stored(), ...choice });
  preferInHost(choice);
}

/** Sets preferences without storing them: a host's wish is not the reader's choice elsewhere. */
export function preferInHost(choice: Partial<Preferences>): void {
  current = { ...current, ...choice };
  applyTheme();
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, () => current);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The theme as an attribute that styles.css reads; none follows the system. */
export function applyTheme(): void {
  if (current.theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = current.theme;
}
