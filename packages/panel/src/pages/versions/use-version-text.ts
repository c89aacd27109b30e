import { useActorText } from '../../components/Parties.tsx';
import { useReader } from '../../i18n/texts.tsx';
import type { Version } from './versions.ts';

/** A version in words: its time, its author (none before the first known change), and both. */
export function useVersionText() {
  const { t, formats } = useReader();
  const actorText = useActorText();
  const when = ({ event, of }: Version) =>
    of === 'before' ? t.versions.beforeFirst : formats.dateTime(event.timestamp);
  const who = ({ event, of }: Version) => (of === 'before' ? '' : actorText(event));
  const name = (version: Version) => [when(version), who(version)].filter(Boolean).join(' · ');
  return { when, who, name };
}
