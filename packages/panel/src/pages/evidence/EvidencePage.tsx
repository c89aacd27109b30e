import type { CoveredSource, OpenedSearch } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Bookmark, Check, type LucideIcon, Printer, X } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { FileButton } from '../../components/FileButton.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { FailedPage, LoadingPage } from '../../components/States.tsx';
import { Verdict } from '../../components/Verdict.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { CriteriaList } from '../../search/CriteriaList.tsx';
import { searchOfCriteria } from '../../search/criteria.ts';
import { emptySearch } from '../../search/event-search.ts';
import type { TimeRange } from '../../search/time-range.ts';
import { useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { usePrint } from '../../shell/use-printing.ts';
import SaveView from '../views/SaveView.tsx';
import { CoverageFacts, EvidenceIdentity } from './EvidenceFacts.tsx';
import { UnknownVerdict, unknownTexts } from './UnknownVerdict.tsx';

/** A saved search, run again when it is opened: both results, and what they show. */
export default function EvidencePage() {
  const t = useTexts();
  const { searchId = '' } = useParams({ strict: false });
  const evidence = useQuery({
    queryKey: ['evidence', searchId],
    queryFn: () => client.searches.get(searchId),
    staleTime: 0,
  });
  if (evidence.isPending) return <LoadingPage title={t.evidence.single} />;
  if (evidence.isError) return <FailedPage query={evidence} />;
  return <EvidenceSheet evidence={evidence.data} />;
}

function EvidenceSheet({ evidence }: { evidence: OpenedSearch }) {
  const { t, formats } = useReader();
  const print = usePrint();
  const search = searchOfCriteria(evidence.filters);
  const { facets, range } = search;
  const kept = formats.exact(evidence.createdAt);
  const [isSaving, setSaving] = useState(false);
  const unknown = unknownTexts(evidence.unknownValues, t);
  return (
    <>
      <UnknownVerdict texts={unknown} />
      <PageHead
        title={evidence.note ?? t.evidence.single}
        actions={
          <>
            <CopyButton text={location.href} className="btn btn-quiet">
              {t.buttons.copyLink}
            </CopyButton>
            <AppLink href={paths.events(search)} className="btn">
              {t.evidence.seeEvents}
            </AppLink>
            <Button Icon={Bookmark} look="quiet" onClick={() => setSaving(true)}>
              {t.views.save}
            </Button>
            <Button Icon={Printer} onClick={print}>
              {t.print.print}
            </Button>
            <FileButton load={() => capsuleOf(evidence.id)}>{t.evidence.capsule}</FileButton>
          </>
        }
      />
      {/* Without its times: a view moves on, evidence does not. */}
      {isSaving && <SaveView search={{ ...emptySearch, facets }} close={() => setSaving(false)} />}
      <div className="max-w-3xl space-y-7 px-4 print:max-w-none pb-12 lg:px-6">
        <Agreement evidence={evidence} isKnown={unknown.length === 0} />
        <section>
          <h2 className="font-semibold">{t.evidence.criteria}</h2>
          <CriteriaList facets={facets} range={range} />
          <p className="mt-2 text-xs text-muted">
            {t.evidence.by} {evidence.createdBy.email ?? evidence.createdBy.id} · {kept}
          </p>
        </section>
        <ThenAndNow evidence={evidence} />
        <CoverageFacts evidence={evidence} />
        <EvidenceStatement evidence={evidence} range={range} unknown={unknown} />
        <EvidenceIdentity evidence={evidence} />
      </div>
    </>
  );
}

/** The evidence as a file that verifies itself. */
async function capsuleOf(id: string) {
  const bytes = new Uint8Array(await client.searches.capsule(id));
  return { file: new Blob([bytes], { type: 'text/html' }), name: `evidence-${id}.html` };
}

/**
 * Whether the result is the same, the same with later events, or another one. That a result without
 * meaning is the same is not worth a word in green.
 */
function Agreement({ evidence, isKnown }: { evidence: OpenedSearch; isKnown: boolean }) {
  const t = useTexts();
  const { agrees, earlierAgrees, recordedSince, bodiesExpired, erasedSince } = evidence.now;
  const since = recordedSince.value;
  const changed = bodiesExpired ? 'expired' : erasedSince ? 'erased' : 'other';
  const kind = agrees ? 'same' : earlierAgrees ? 'grown' : changed;
  const answers = {
    same: { look: 'good', title: t.evidence.agrees, text: t.evidence.agreesText },
    grown: {
      look: 'warn',
      title: t.evidence.grown,
      text: t.evidence.grownText({ count: since }),
    },
    expired: { look: 'warn', title: t.evidence.differs, text: t.evidence.expired },
    erased: { look: 'warn', title: t.evidence.incomparable, text: t.evidence.erased },
    other: { look: 'bad', title: t.evidence.differs, text: t.evidence.differsText },
  } as const;
  const { look, title, text } = answers[kind];
  if (look === 'good' && !isKnown) return null;
  return (
    <Verdict look={look} title={title}>
      <p>{text}</p>
      {bodiesExpired && kind !== 'expired' && <p className="font-medium">{t.evidence.expired}</p>}
      {erasedSince && kind !== 'erased' && <p className="font-medium">{t.evidence.erased}</p>}
    </Verdict>
  );
}

function ThenAndNow({ evidence }: { evidence: OpenedSearch }) {
  const { t, formats } = useReader();
  const sides = [evidence, evidence.now];
  const checkpoints = sides.map(({ checkpoint }) =>
    checkpoint === null
      ? '—'
      : `${t.evidence.entries({ count: checkpoint.size })} ${checkpoint.rootHash}`,
  );
  const large = 'text-2xl font-semibold tracking-tight tabular-nums';
  const rows = [
    [t.evidence.matched, sides.map(({ matched }) => formats.number(matched.value)), large],
    [t.evidence.digest, sides.map(({ digest }) => digest), 'font-mono text-xs'],
    [t.evidence.checkpoint, checkpoints, 'font-mono text-xs'],
  ] as const;
  return (
    <table className="keep w-full table-fixed border-collapse text-left align-top">
      <thead>
        <tr className="border-b border-line text-xs text-faint">
          <td className="w-1/4" />
          <th scope="col" className="px-3 py-2 font-medium">
            {t.evidence.whenKept}
          </th>
          <th scope="col" className="px-3 py-2 font-medium">
            {t.evidence.now}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, texts, look]) => (
          <tr key={name} className="border-b border-line">
            <th scope="row" className="py-2.5 pr-3 align-top text-xs font-normal text-muted">
              {name}
            </th>
            {texts.map((text, side) => (
              <td
                key={side === 0 ? 'then' : 'now'}
                className={`px-3 py-2.5 align-top break-all ${look}`}
              >
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface EvidenceStatementProps {
  evidence: OpenedSearch;
  range: TimeRange;
  /** The unknown values of the search. */
  unknown: readonly string[];
}

/** What a saved search proves, and what it does not. */
function EvidenceStatement({ evidence, range, unknown }: EvidenceStatementProps) {
  const { t, formats } = useReader();
  const { rangeText } = useCriteriaTexts();
  const { value } = evidence.matched;
  const when = rangeText(range);
  const { sources } = evidence.now;
  const incomplete = sources.filter(({ gaps, gapsDropped }) => gaps.length > 0 || gapsDropped);
  const whole = sources.filter((source) => !incomplete.includes(source));
  const shows = [
    value === 0
      ? t.evidence.provesNone({ range: when })
      : t.evidence.provesSome({ count: value, range: when }),
    ...(evidence.checkpoint === null ? [] : [t.evidence.provesLog]),
    ...(whole.length > 0 ? [t.evidence.noGaps({ sources: nameList(whole) })] : []),
  ];
  const isKnown = unknown.length === 0;
  const showsNot = [
    ...(isKnown ? [] : [t.evidence.notUnknown({ values: unknown.join(', ') })]),
    ...incomplete.flatMap(({ id, gaps, gapsDropped }) => [
      ...gaps.map(({ from, to, afterReceivedAt, noticedAt }) =>
        t.evidence.gap({
          source: revealed(id),
          numbers: from === to ? String(from) : `${from}–${to}`,
          from: formats.exact(afterReceivedAt),
          to: formats.exact(noticedAt),
        }),
      ),
      ...(gapsDropped ? [t.evidence.gapsDropped({ source: revealed(id) })] : []),
    ]),
    t.evidence.notRecorded,
    t.evidence.notNumbered,
    t.evidence.notTruth,
    t.evidence.notRetention,
  ];
  return (
    <div className="keep grid gap-6 sm:grid-cols-2">
      <Statements
        title={t.evidence.proves}
        texts={shows}
        Icon={Check}
        tone={isKnown ? 'text-add' : 'text-faint'}
      />
      <Statements title={t.evidence.provesNot} texts={showsNot} Icon={X} tone="text-faint" />
    </div>
  );
}

/** Instances of one source have its name once. */
function nameList(sources: readonly CoveredSource[]): string {
  const names = sources.map(({ id }) => revealed(id.split('/', 1)[0] ?? id));
  return [...new Set(names)].join(', ');
}

interface StatementsProps {
  title: string;
  texts: readonly string[];
  Icon: LucideIcon;
  /** Colour of the icons. */
  tone: string;
}

function Statements({ title, texts, Icon, tone }: StatementsProps) {
  return (
    <section>
      <h2 className="mb-2 font-semibold">{title}</h2>
      <ul className="space-y-2">
        {texts.map((text) => (
          <li key={text} className="flex gap-2 text-pretty">
            <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${tone}`} />
            {text}
          </li>
        ))}
      </ul>
    </section>
  );
}
