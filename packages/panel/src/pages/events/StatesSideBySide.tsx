import type { State } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useMemo } from 'react';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { type LinePair, sideBySide } from './side-by-side.ts';

interface StatesProps {
  before: State | null;
  after: State | null;
}

/** The complete states before and after, line by line. */
export function StatesSideBySide({ before, after }: StatesProps) {
  const t = useTexts();
  const pairs = useMemo(() => sideBySide(before, after), [before, after]);
  return (
    <ScrollRegion label={t.detail.sideBySide} className="rounded-lg border border-line">
      <table className="w-full min-w-72 table-fixed border-collapse font-mono text-xs leading-5">
        <thead>
          <tr className="border-b border-line font-sans text-faint">
            <th scope="col" className="px-3 py-1.5 text-left font-medium">
              {t.detail.before}
            </th>
            <th scope="col" className="border-l border-line px-3 py-1.5 text-left font-medium">
              {t.detail.after}
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <tr key={pair.row}>
              <Line pair={pair} side="left" />
              <Line pair={pair} side="right" />
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function Line({ pair, side }: { pair: LinePair; side: 'left' | 'right' }) {
  const text = pair[side];
  const changed = !pair.same && text !== null;
  const tone = changed ? (side === 'left' ? 'bg-del-soft text-del' : 'bg-add-soft text-add') : '';
  // Padding lets a long line go on below its beginning, not below its indentation.
  const indent = Math.max(0, text?.search(/\S/) ?? 0);
  return (
    <td
      dir="auto"
      style={{ paddingInlineStart: `calc(0.75rem + ${indent}ch)` }}
      className={`pe-3 align-top wrap-anywhere whitespace-pre-wrap ${tone} ${side === 'right' ? 'border-l border-line' : ''} ${text === null ? 'bg-sunken' : ''}`}
    >
      {text && revealed(text.slice(indent))}
    </td>
  );
}
