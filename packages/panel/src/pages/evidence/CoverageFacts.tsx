import type { OpenedSearch } from '@indelible/client';
import { type CountOrMore, revealed } from '@indelible/protocol';
import { Fact } from '../../components/Fact.tsx';
import { Verdict } from '../../components/Verdict.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';

/**
 * What the search could find at all: an absence says little if nothing was recorded in that time,
 * or if the person is not in the log at any time.
 */
export function CoverageFacts({ evidence }: { evidence: OpenedSearch }) {
  const t = useTexts();
  const formats = useFormats();
  const { logBeganAt, shownFrom, eventsInRange, totals } = evidence.now.coverage;
  const countText = ({ value, relation }: CountOrMore) =>
    relation === 'eq' ? t.events.count({ count: value }) : t.events.countOver({ count: value });
  const isEmpty = eventsInRange.value === 0;
  return (
    <section className="keep">
      <h2 className="mb-2 font-semibold">{t.evidence.coverage}</h2>
      {isEmpty && (
        <Verdict look="warn" title={t.evidence.emptyRange} className="mb-2">
          <p>{t.evidence.emptyRangeText}</p>
        </Verdict>
      )}
      <dl>
        <Fact name={t.evidence.inRange}>{countText(eventsInRange)}</Fact>
        {totals.map(({ filter, value, events }) => (
          <Fact key={`${filter} ${value}`} name={t.filters[filter as 'user']}>
            {revealed(value)}: {t.evidence.atAnyTime({ events: countText(events) })}
          </Fact>
        ))}
        <Fact name={t.evidence.logBegan}>{formats.exact(logBeganAt)}</Fact>
        <Fact name={t.evidence.shownFrom}>{formats.exact(shownFrom)}</Fact>
      </dl>
    </section>
  );
}
