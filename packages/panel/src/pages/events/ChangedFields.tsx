import type { Diff } from '@indelible/protocol';
import { ArrowRight } from 'lucide-react';
import { ChangedText } from '../../components/ChangedText.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { changedFields } from './diff-preview.ts';

/** Each field that changed, with its value before and after. */
export function ChangedFields({ diff }: { diff: Diff }) {
  const t = useTexts();
  const fields = changedFields(diff);
  if (fields.length === 0) return <p className="text-muted">{t.events.noChanges}</p>;
  return (
    <dl className="divide-y divide-line rounded-lg border border-line">
      {fields.map(({ field, from, to }) => (
        <div key={field} className="keep px-3 py-2">
          <dt className="font-mono text-xs break-all text-faint">{field}</dt>
          <dd className="mt-1 grid grid-cols-[minmax(0,1fr)_auto_minmax(0,1fr)] items-start gap-2 text-[0.8125rem]">
            <span>
              <span className="sr-only">{t.detail.before}: </span>
              <ChangedText from={from} to={to} side="from" />
            </span>
            <ArrowRight aria-hidden className="mt-1 size-3.5 text-faint" />
            <span>
              <span className="sr-only">{t.detail.after}: </span>
              <ChangedText from={from} to={to} side="to" />
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
