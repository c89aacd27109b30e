import type { OpenedSearch } from '@indelible/client';
import type { CountOrMore, FacetName } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import encodeQR from 'qr';
import { client } from '../../api.ts';
import { Fact } from '../../components/Fact.tsx';
import { Verdict } from '../../components/Verdict.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { valueText } from '../../search/use-criteria-texts.ts';

/** What a reader on paper needs to find the evidence again and to check its signature. */
export function EvidenceIdentity({ evidence }: { evidence: OpenedSearch }) {
  const t = useTexts();
  const { id, url, checkpoint } = evidence;
  const note = checkpoint?.note ?? null;
  const origin = note?.split('\n', 1).join() ?? '';
  const keys = useQuery({
    queryKey: ['keys', origin],
    queryFn: () => client.log.keys(origin),
    enabled: note !== null,
  });
  const vkeys = keys.data?.keys.map(({ vkey }) => vkey) ?? [];
  return (
    <section className="keep">
      <h2 className="mb-2 font-semibold">{t.evidence.identity}</h2>
      <div className="flex gap-6">
        <dl className="min-w-0 flex-1">
          <Fact name={t.evidence.id} code={id} />
          <Fact name={t.evidence.address} code={url} />
          {note !== null && (
            <Fact name={t.evidence.signedNote} copy={note}>
              <pre className="text-2xs break-all whitespace-pre-wrap">{note.trimEnd()}</pre>
            </Fact>
          )}
          {vkeys.map((vkey) => (
            <Fact key={vkey} name={t.evidence.key} code={vkey} />
          ))}
        </dl>
        <QrCode text={url} className="print-only size-32 shrink-0" />
      </div>
    </section>
  );
}

/** A text as a QR code; its name is what it says. Scanners need four free modules around it. */
function QrCode({ text, className }: { text: string; className: string }) {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: 4 });
  const squares = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  const size = rows.length;
  return (
    <svg role="img" aria-label={text} viewBox={`0 0 ${size} ${size}`} className={className}>
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}

/**
 * What the search could find at all: an absence says little if nothing was recorded in that time,
 * or if the person is not in the log at any time.
 */
export function CoverageFacts({ evidence }: { evidence: OpenedSearch }) {
  const { t, formats } = useReader();
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
          <Fact key={`${filter} ${value}`} name={t.filters[filter as FacetName]}>
            {valueText(filter as FacetName, value, t)}:{' '}
            {t.evidence.atAnyTime({ events: countText(events) })}
          </Fact>
        ))}
        <Fact name={t.evidence.logBegan}>{formats.exact(logBeganAt)}</Fact>
        <Fact name={t.evidence.shownFrom}>{formats.exact(shownFrom)}</Fact>
      </dl>
    </section>
  );
}
