import { revealed, type StateLeaf } from '@indelible/protocol';
import { diffWordsWithSpace } from 'diff';
import { useMemo } from 'react';
import { isNoText, NoText } from './NoText.tsx';
import { valueText } from './value-text.ts';

const wordDiffMax = 4_000;

interface ChangedTextProps {
  /** Undefined: absent. */
  from: StateLeaf;
  to: StateLeaf;
  side: 'from' | 'to';
}

/** One side of a change; in longer texts the words that differ are marked. */
export function ChangedText(props: ChangedTextProps) {
  const { from, to, side } = props;
  const parts = useMemo(() => wordsOf(from, to, side), [from, to, side]);
  const [value, other] = side === 'from' ? [from, to] : [to, from];
  const tone = side === 'from' ? 'bg-del-soft text-del' : 'bg-add-soft text-add';
  if (isNoText(value)) return <NoText value={value} />;
  if (parts === null) {
    return (
      <span
        dir="auto"
        className={`rounded px-1 wrap-anywhere whitespace-pre-wrap box-decoration-clone ${tone}`}
      >
        {valueText(value, other)}
      </span>
    );
  }
  return (
    <span dir="auto" className="wrap-anywhere whitespace-pre-wrap">
      {parts.map(({ text, changed, start }) =>
        changed ? (
          <mark key={start} className={`rounded-sm box-decoration-clone ${tone}`}>
            {revealed(text)}
          </mark>
        ) : (
          revealed(text)
        ),
      )}
    </span>
  );
}

/** Null for values too short or too long to be compared word by word. */
function wordsOf(from: StateLeaf, to: StateLeaf, side: 'from' | 'to') {
  if (typeof from !== 'string' || typeof to !== 'string') return null;
  const short = Math.min(from.length, to.length) < 16 || !/\s/.test(from + to);
  if (short || Math.max(from.length, to.length) > wordDiffMax) return null;
  const parts = diffWordsWithSpace(from, to);
  // Two texts with few common words are easier to read unmarked.
  const kept = parts.filter(({ added, removed }) => !added && !removed);
  if (kept.reduce((sum, { value }) => sum + value.length, 0) < from.length / 3) return null;
  let end = 0;
  return parts
    .filter(({ added, removed }) => (side === 'from' ? !added : !removed))
    .map(({ value, added, removed }) => {
      const start = end;
      end += value.length;
      return { text: value, changed: added || removed, start };
    });
}
