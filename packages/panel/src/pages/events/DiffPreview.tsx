import type { Diff, Scalar } from '@indelible/protocol';
import { ArrowRight } from 'lucide-react';
import { useTexts } from '../../i18n/texts.tsx';
import { diffPreview, scalarText } from './diff-preview.ts';

/** The first two changes of an event on one line each, and how many more there are. */
export function DiffPreview({ diff }: { diff: Diff }) {
  const t = useTexts();
  const { shown, more } = diffPreview(diff);
  if (shown.length === 0) return null;
  return (
    <ul className="space-y-0.5">
      {shown.map(({ field, from, to }, index) => (
        <li key={field} className="flex min-w-0 items-baseline gap-1.5">
          <span className="max-w-[45%] shrink-0 truncate font-mono text-xs text-faint">
            {field}
          </span>
          <ShortValue value={from} kind="del" />
          <ArrowRight aria-hidden className="size-3 shrink-0 self-center text-faint" />
          <ShortValue value={to} kind="add" />
          {more > 0 && index === shown.length - 1 && (
            <span className="ml-1 shrink-0 text-xs text-faint">{t.events.more(more)}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function ShortValue({ value, kind }: { value: Scalar; kind: 'add' | 'del' }) {
  const t = useTexts();
  const text = scalarText(value);
  return (
    <span
      dir="auto"
      className={`max-w-40 min-w-0 truncate text-xs ${kind === 'del' ? 'text-muted line-through decoration-del/60' : 'text-add'}`}
    >
      <span className="sr-only">{kind === 'del' ? t.events.from : t.events.to} </span>
      {text === null || text === '' ? <i className="text-faint">{t.events.empty}</i> : text}
    </span>
  );
}
