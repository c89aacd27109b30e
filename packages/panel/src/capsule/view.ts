import type { CapsuleVerdict } from '@indelible/protocol';
import type { Texts } from '../../../../locales/texts.ts';
import type { Formats } from '../i18n/formats.ts';

/** What every part of the page writes with. */
export interface View {
  texts: Texts['capsule'];
  filters: Texts['panel']['filters'];
  /** The texts that the panel's page has too. */
  same: Texts['panel']['evidence'];
  formats: Formats;
}

/** `unchecked`: this browser could not check. */
export type Outcome =
  | CapsuleVerdict
  | { code: 'unchecked'; problems: readonly string[]; content: null };
