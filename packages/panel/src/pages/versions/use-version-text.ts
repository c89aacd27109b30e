import { useActorText } from '../../components/Parties.tsx';
import { useReader } from '../../i18n/texts.tsx';
import type { Version } from './versions.ts';

interface VersionText {
  when(version: Version): string;
  /** Empty for the state before the first known change. */
  who(version: Version): string;
  /** Time and author. */
  name(version: Version): string;
}

/** A version in words. */
export function useVersionText(): VersionText {
  const { t, formats } = useReader();
  const actorText = useActorText();
  const when = ({ event, of }: Version) =>
    of === 'before' ? t.versions.beforeFirst : formats.dateTime(event.timestamp);
  const who = ({ event, of }: Version) => (of === 'before' ? '' : actorText(event));
  const name = (version: Version) => [when(version), who(version)].filter(Boolean).join(' · ');
  return { when, who, name };
}
