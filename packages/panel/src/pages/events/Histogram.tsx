import { useQuery } from '@tanstack/react-query';
import { ZoomOut } from 'lucide-react';
import { type PointerEvent, useMemo, useState } from 'react';
import { Button } from '../../components/Button.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { changed, type EventSearch } from '../../search/event-search.ts';
import { zoomedOut } from '../../search/time-range.ts';
import { type Bar, barsOf, type Mark } from './buckets.ts';
import { histogramQuery } from './histogram-query.ts';

interface HistogramProps {
  search: EventSearch;
  nowMs: number;
  change: (next: EventSearch) => void;
}

/** Counts of events over time, from the service; dragging zooms in. */
export function Histogram({ search, nowMs, change }: HistogramProps) {
  const t = useTexts();
  const formats = useFormats();
  const [mark, setMark] = useState<Mark>('category');
  const { data } = useQuery(histogramQuery(search, nowMs, formats.timeZone, mark));
  const bars = useMemo(
    () => (data ? barsOf(data.counts, data.range, data.unit, formats.timeZone) : []),
    [data, formats.timeZone],
  );
  const zoom = (from: number, to: number) =>
    change(changed(search, { range: { kind: 'between', from, to } }));
  const wider = zoomedOut(search.range, nowMs);
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  return (
    <section aria-label={t.histogram.label} className="no-print px-4 pt-1 lg:px-6">
      <div className="relative">
        <Bars {...{ bars, highest, zoom, mark }} />
        <p aria-hidden className="absolute top-0 left-0 bg-surface/80 pr-1 text-2xs text-faint">
          {data && formats.number(highest)}
        </p>
      </div>
      <div className="flex justify-between border-t border-line pt-1 text-2xs text-faint tabular-nums">
        <span>{bars[0] && formats.range(bars[0].from, bars[0].from)}</span>
        <Legend mark={mark} setMark={setMark} />
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
    <span className="hidden items-center gap-3 sm:flex">
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

const height = 56;

function Bars({ bars, highest, mark, zoom }: BarsProps) {
  const [drag, setDrag] = useState<{ start: number; end: number } | null>(null);
  const indexAt = ({ currentTarget, clientX }: PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / width) * bars.length);
    return Math.min(bars.length - 1, Math.max(0, index));
  };
  const finish = () => {
    if (drag === null) return;
    setDrag(null);
    const first = bars[Math.min(drag.start, drag.end)];
    const last = bars[Math.max(drag.start, drag.end)];
    if (first && last) zoom(first.from, last.to);
  };
  return (
    <svg
      viewBox={`0 0 ${Math.max(1, bars.length) * 10} ${height}`}
      preserveAspectRatio="none"
      className="h-14 w-full cursor-crosshair touch-pan-y"
      aria-hidden="true"
      onPointerDown={(event) => {
        if (event.button !== 0 || bars.length === 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ start: indexAt(event), end: indexAt(event) });
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, end: indexAt(event) })}
      onPointerUp={finish}
      onPointerCancel={() => setDrag(null)}
    >
      {bars.map((bar, index) => (
        <OneBar key={bar.from} {...{ bar, index, highest, mark }} />
      ))}
      {drag && (
        <rect
          x={Math.min(drag.start, drag.end) * 10}
          y={0}
          width={(Math.abs(drag.end - drag.start) + 1) * 10}
          height={height}
          className="fill-accent/20"
        />
      )}
    </svg>
  );
}

interface OneBarProps {
  bar: Bar;
  index: number;
  highest: number;
  mark: Mark;
}

function OneBar({ bar, index, highest, mark }: OneBarProps) {
  const t = useTexts();
  const formats = useFormats();
  // At least two pixels, so that a small count beside a high bar stays visible.
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, (count / highest) * height));
  const total = heightOf(bar.count);
  const marked = Math.min(total, heightOf(bar.marked));
  const counts = [
    `${formats.range(bar.from, bar.to)}: ${formats.number(bar.count)}`,
    ...(bar.marked > 0 ? [`${formats.number(bar.marked)} ${t.histogram[marks[mark].text]}`] : []),
  ];
  const column = { x: index * 10 + 1, width: 8 };
  return (
    <g className="group">
      <title>{counts.join(', ')}</title>
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

/** The same counts for screen readers. */
function HiddenTable({ bars, mark }: { bars: readonly Bar[]; mark: Mark }) {
  const t = useTexts();
  const formats = useFormats();
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
