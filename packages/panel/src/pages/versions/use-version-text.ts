import { useActorText } from '../../components/actor-name.ts';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import type { Version } from './versions.ts';

/** The name of a version: its time and author. */
export function useVersionText(): (version: Version) => { when: string; who: string } {
  const t = useTexts();
  const formats = useFormats();
  const actorText = useActorText();
  return ({ event, of }) =>
    of === 'before'
      ? { when: t.versions.beforeFirst, who: '' }
      : {
          when: formats.dateTime(event.timestamp),
          who: actorText(event),
        };
}
