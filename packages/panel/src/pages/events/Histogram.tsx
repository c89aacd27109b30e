import { filterToJson, formatTimestamp, parseTimestamp } from '@indelible/protocol';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { ZoomOut } from 'lucide-react';
import { type KeyboardEvent, type PointerEvent, useMemo, useState } from 'react';
import { client } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { errorText } from '../../components/States.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { changed, type EventSearch, filterAt, type Searching } from '../../search/event-search.ts';
import { zoomedOut } from '../../search/time-range.ts';
import { type Bar, type BucketCount, barsOf, type Mark, unitFor } from './buckets.ts';

/** Counts of events over time, from the service; dragging zooms in. */
export function Histogram({ search, nowMs, change }: Searching) {
  const { t, formats } = useReader();
  const [mark, setMark] = useState<Mark>('category');
  const { data, error } = useQuery(histogramQuery(search, nowMs, formats.timeZone, mark));
  const bars = useMemo(
    () => (data ? barsOf(data.counts, data.range, data.unit, formats.timeZone) : []),
    [data, formats.timeZone],
  );
  const zoom = (from: number, to: number) =>
    change(changed(search, { range: { kind: 'between', from, to } }));
  const wider = zoomedOut(search.range, nowMs);
  const highest = Math.max(0, ...bars.map(({ count }) => count));
  return (
    <section aria-label={t.histogram.label} className="no-print @container px-4 pt-1 lg:px-6">
      <div className="relative">
        {error ? (
          <p className="py-2 text-xs text-muted">{errorText(error, t)}</p>
        ) : (
          <Bars bars={bars} highest={highest} zoom={zoom} mark={mark} />
        )}
        <p aria-hidden className="absolute top-0 left-0 bg-surface/80 pr-1 text-2xs text-faint">
          {highest > 0 && formats.number(highest)}
        </p>
      </div>
      <div className="flex flex-wrap justify-between border-t border-line pt-1 text-2xs text-faint tabular-nums">
        <span>{bars[0] && formats.range(bars[0].from, bars[0].from)}</span>
        {!error && <Legend mark={mark} setMark={setMark} />}
        <span>{bars.length > 0 && formats.range(bars.at(-1)?.to ?? 0, bars.at(-1)?.to ?? 0)}</span>
      </div>
      {wider && (
        <Button
          Icon={ZoomOut}
          look="quiet"
          className="mt-1 h-6 px-1.5 text-xs"
          onClick={() => zoom(wider.from, wider.to)}
        >
          {t.histogram.zoomOut}
        </Button>
      )}
      <HiddenTable bars={bars} mark={mark} />
    </section>
  );
}

const marks = {
  category: { text: 'operators', swatch: 'bg-warn-bar', bar: 'fill-warn-bar' },
  outcome: { text: 'unsuccessful', swatch: 'bg-del', bar: 'fill-del' },
} as const;

function Legend({ mark, setMark }: { mark: Mark; setMark: (mark: Mark) => void }) {
  const t = useTexts();
  const other = mark === 'category' ? 'outcome' : 'category';
  return (
    <span className="flex items-center gap-3 @max-md:hidden @max-2xl:order-last @max-2xl:basis-full">
      {t.histogram.hint}
      <span className="flex items-center gap-1.5">
        <span aria-hidden className={`size-2 rounded-sm ${marks[mark].swatch}`} />
        {t.histogram[marks[mark].text]}
      </span>
      <button type="button" className="link cursor-pointer" onClick={() => setMark(other)}>
        {t.histogram.marked}: {t.histogram[marks[other].text]}
      </button>
    </span>
  );
}

interface BarsProps {
  bars: readonly Bar[];
  highest: number;
  mark: Mark;
  zoom: (from: number, to: number) => void;
}

/** Chosen bars, by their places: where the choice began, and where it is now. */
interface Choice {
  start: number;
  end: number;
}

const height = 56;

function Bars({ bars, highest, mark, zoom }: BarsProps) {
  const t = useTexts();
  const barText = useBarText(mark);
  const [choice, setChoice] = useState<Choice | null>(null);
  const ends = choice && [Math.min(choice.start, choice.end), Math.max(choice.start, choice.end)];
  const chosen = ends === null ? [] : bars.slice(ends[0], (ends[1] ?? 0) + 1);
  const text = chosen.length === 0 ? '' : barText(chosen);
  const finish = () => {
    setChoice(null);
    const [first, last] = [chosen[0], chosen.at(-1)];
    if (first && last) zoom(first.from, last.to);
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={t.histogram.label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, bars.length - 1)}
      aria-valuenow={choice?.end ?? bars.length - 1}
      aria-valuetext={text || t.histogram.hint}
      className="touch-pan-y cursor-crosshair"
      onKeyDown={(event) => {
        const next = choiceAfter(event, choice, bars.length - 1);
        if (event.key === 'Enter') finish();
        else if (next !== undefined) setChoice(next);
        else return;
        event.preventDefault();
      }}
      onBlur={() => setChoice(null)}
      onPointerDown={(event) => {
        if (event.button !== 0 || bars.length === 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = indexAt(event, bars.length);
        setChoice({ start: at, end: at });
      }}
      onPointerMove={(event) => {
        if (choice && event.buttons > 0) setChoice({ ...choice, end: indexAt(event, bars.length) });
      }}
      onPointerUp={finish}
      onPointerCancel={() => setChoice(null)}
    >
      <svg
        viewBox={`0 0 ${Math.max(1, bars.length) * 10} ${height}`}
        preserveAspectRatio="none"
        className="h-14 w-full"
        aria-hidden="true"
      >
        {bars.map((bar, index) => (
          <OneBar key={bar.from} bar={bar} index={index} highest={highest} mark={mark} />
        ))}
        {ends && (
          <rect
            x={(ends[0] ?? 0) * 10}
            width={chosen.length * 10}
            height={height}
            className="fill-accent/20"
          />
        )}
      </svg>
      <p aria-hidden className="absolute top-0 right-0 bg-surface/80 pl-1 text-2xs text-muted">
        {text}
      </p>
    </div>
  );
}

function indexAt({ currentTarget, clientX }: PointerEvent, count: number): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.min(count - 1, Math.max(0, Math.floor(((clientX - left) / width) * count)));
}

/** The choice after a key, null for none; undefined if the key is not one of the histogram's. */
function choiceAfter(
  { key, shiftKey }: KeyboardEvent,
  choice: Choice | null,
  last: number,
): Choice | null | undefined {
  if (key === 'Escape' && choice) return null;
  const at = choice?.end ?? last + 1;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[key];
  if (to === undefined || last < 0) return undefined;
  const end = Math.min(last, Math.max(0, to));
  return { start: shiftKey && choice ? choice.start : end, end };
}

/** The time of bars that stand side by side, and what they count. */
function useBarText(mark: Mark): (bars: readonly Bar[]) => string {
  const { t, formats } = useReader();
  return (bars) => {
    const sum = (of: 'count' | 'marked') => bars.reduce((total, bar) => total + bar[of], 0);
    const time = formats.range(bars[0]?.from ?? 0, bars.at(-1)?.to ?? 0);
    const marked = sum('marked');
    return [
      `${time}: ${formats.number(sum('count'))}`,
      ...(marked > 0 ? [`${formats.number(marked)} ${t.histogram[marks[mark].text]}`] : []),
    ].join(', ');
  };
}

interface OneBarProps {
  bar: Bar;
  index: number;
  highest: number;
  mark: Mark;
}

function OneBar({ bar, index, highest, mark }: OneBarProps) {
  const barText = useBarText(mark);
  // At least two pixels, so that a small count beside a high bar stays visible.
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, (count / highest) * height));
  const total = heightOf(bar.count);
  const marked = Math.min(total, heightOf(bar.marked));
  const column = { x: index * 10 + 1, width: 8 };
  return (
    <g className="group">
      <title>{barText([bar])}</title>
      <rect
        x={index * 10}
        width={10}
        height={height}
        className="fill-transparent group-hover:fill-line"
      />
      <rect {...column} y={height - total} height={total - marked} className="fill-accent-bar" />
      <rect {...column} y={height - marked} height={marked} className={marks[mark].bar} />
    </g>
  );
}

/** The counts of the bars for screen readers. */
function HiddenTable({ bars, mark }: { bars: readonly Bar[]; mark: Mark }) {
  const { t, formats } = useReader();
  return (
    <div className="sr-only">
      <table>
        <caption>{t.histogram.label}</caption>
        <thead>
          <tr>
            <th scope="col">{t.events.time}</th>
            <th scope="col">{t.nav.events}</th>
            <th scope="col">{t.histogram[marks[mark].text]}</th>
          </tr>
        </thead>
        <tbody>
          {bars
            .filter(({ count }) => count > 0)
            .map(({ from, to, count, marked }) => (
              <tr key={from}>
                <th scope="row">{formats.range(from, to)}</th>
                <td>{formats.number(count)}</td>
                <td>{formats.number(marked)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

/** Counts of a search over time; without a start, from the first retained event. */
function histogramQuery(search: EventSearch, nowMs: number, timeZone: string, mark: Mark) {
  const { from, to = nowMs, ...facets } = filterAt(search, nowMs);
  const unit = unitFor(to - (from ?? 0));
  // Without a `from` the service would count the last 30 days only.
  const criteria = { ...filterToJson({ ...facets, to }), from: formatTimestamp(from ?? 0) };
  return queryOptions({
    queryKey: ['histogram', criteria, unit, timeZone, mark],
    queryFn: async () => {
      const answer = await client.stats({ ...criteria, groupBy: [unit, mark], timeZone });
      const counts: BucketCount[] = answer.data.map((row) => ({
        start: parseTimestamp(String(row[unit])) ?? 0,
        word: String(row[mark]),
        count: row.count,
      }));
      const first = Math.min(to - 1, ...counts.map(({ start }) => start));
      return { counts, unit, range: { from: from ?? first, to } };
    },
    placeholderData: keepPreviousData,
  });
}
