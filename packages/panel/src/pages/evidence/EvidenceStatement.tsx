import type { OpenedSearch } from '@indelible/client';
import { Check, X } from 'lucide-react';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import type { TimeRange } from '../../search/time-range.ts';
import { useCriteriaTexts } from '../../search/use-criteria-texts.ts';

/** In words what follows from a kept search, and as clearly what does not. */
export function EvidenceStatement(props: { evidence: OpenedSearch; range: TimeRange }) {
  const { evidence, range } = props;
  const t = useTexts();
  const formats = useFormats();
  const { rangeText } = useCriteriaTexts();
  const { value } = evidence.matched;
  const when = rangeText(range);
  const shows = [
    value === 0
      ? t.evidence.provesNone(when)
      : t.evidence.provesSome(value, formats.number(value), when),
    ...(evidence.checkpoint === null ? [] : [t.evidence.provesLog]),
  ];
  const showsNot = [t.evidence.notRecorded, t.evidence.notTruth, t.evidence.notRetention];
  return (
    <div className="keep grid gap-6 sm:grid-cols-2">
      <section>
        <h2 className="mb-2 font-semibold">{t.evidence.proves}</h2>
        <ul className="space-y-2">
          {shows.map((text) => (
            <li key={text} className="flex gap-2 text-pretty">
              <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-add" />
              {text}
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2 className="mb-2 font-semibold">{t.evidence.provesNot}</h2>
        <ul className="space-y-2 text-muted">
          {showsNot.map((text) => (
            <li key={text} className="flex gap-2 text-pretty">
              <X aria-hidden className="mt-0.5 size-4 shrink-0 text-faint" />
              {text}
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}
