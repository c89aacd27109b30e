import { type FacetName, facetNames, facetOf } from '@indelible/protocol';
import { CalendarRange, ChevronDown, ListFilter, Search, ShieldAlert, X } from 'lucide-react';
import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useRef, useState } from 'react';
import { Button as ClearButton, Input, SearchField } from 'react-aria-components';
import { flushSync } from 'react-dom';
import { Button } from '../components/Button.tsx';
import { QuietSelect } from '../components/QuietSelect.tsx';
import { useTexts } from '../i18n/texts.tsx';
import {
  changed,
  type EventSearch,
  onlyValue,
  type Searching,
  withoutFacet,
} from './event-search.ts';
import { useCriteriaTexts } from './use-criteria-texts.ts';
import { useNamesOf } from './use-named.ts';

const FacetPicker = lazy(() => import('./FacetPicker.tsx'));
const RangePicker = lazy(() => import('./RangePicker.tsx'));

interface FilterBarProps extends Searching {
  /** The filters of this page. */
  facets?: readonly FacetName[];
  /** Whether a time range can be chosen too. */
  withRange?: boolean;
  /** What else stands beside the filters. */
  children?: ReactNode;
}

/** Shown wherever the address has them, and if the reader chooses them. */
const furtherFacets = [
  'category',
  'outcome',
  'ip',
  'actorType',
  'onBehalfOf',
  'correlationId',
  'target',
  'traceId',
] as const;
const usualFacets = facetNames.filter(
  (facet) => facet !== 'hasReason' && furtherFacets.every((further) => further !== facet),
);
const isToggled = (facet: FacetName) => facetOf(facet).columns.boolean !== undefined;

/** Without a value, hidden while a narrow bar is folded. */
const foldable = '@max-[40rem]:group-data-folded/bar:hidden';

/**
 * Time range and filters as chips; each shows its value and opens its choices. Where there is
 * little room, one button shows and hides those without a value.
 */
export function FilterBar(props: FilterBarProps) {
  const { search, nowMs, change, facets = usualFacets, withRange = true, children } = props;
  const t = useTexts();
  const [opened, open] = useState<FacetName | null>(null);
  const [isFolded, setFolded] = useState(withRange);
  const foldButton = useRef<HTMLButtonElement>(null);
  // Does nothing in a wide bar, whose button is not displayed.
  const leave = () => isFolded && foldButton.current?.focus();
  const words = facets.includes('q') ? wordsIn(search) : null;
  const others = facetNames.filter((facet) => facet !== 'q' || words === null);
  const active = others.filter((facet) => search.facets[facet]).length;
  return (
    <div className="no-print @container">
      <fieldset
        aria-label={t.filters.label}
        className="group/bar flex min-w-0 flex-wrap gap-1.5"
        data-folded={isFolded || undefined}
      >
        {words !== null && <WordsField search={search} words={words} change={change} />}
        {withRange && <RangeChip search={search} change={change} />}
        {withRange && (
          <Button
            ref={foldButton}
            Icon={ListFilter}
            className="@min-[40rem]:hidden"
            aria-expanded={!isFolded}
            onClick={() => setFolded(!isFolded)}
          >
            {t.filters.label}
            {active > 0 && <ActiveCount count={active} />}
          </Button>
        )}
        <ReceivedChip search={search} change={change} />
        {others
          .filter((facet) => facets.includes(facet) || search.facets[facet] || facet === opened)
          .filter((facet) => !isToggled(facet))
          .map((facet) => (
            <FacetChip
              key={facet}
              facet={facet}
              search={search}
              nowMs={nowMs}
              change={change}
              leave={leave}
              startsOpen={facet === opened}
            />
          ))}
        {toggles.map((toggle) => (
          <FacetToggle key={toggle.facet} {...props} {...toggle} facets={facets} leave={leave} />
        ))}
        {facets === usualFacets && <MoreFilters search={search} opened={opened} open={open} />}
        {Object.keys(search.facets).length > 0 && (
          <Button
            look="quiet"
            className={foldable}
            onClick={() => change(changed(search, { facets: {} }))}
          >
            {t.filters.clear}
          </Button>
        )}
        {children && <div className={`contents ${foldable}`}>{children}</div>}
      </fieldset>
    </div>
  );
}

function ActiveCount({ count }: { count: number }) {
  const t = useTexts();
  return (
    <>
      <span aria-hidden className="badge badge-accent tabular-nums">
        {count}
      </span>
      <span className="sr-only">{t.filters.active({ count })}</span>
    </>
  );
}

interface MoreFiltersProps {
  search: EventSearch;
  opened: FacetName | null;
  open: (facet: FacetName) => void;
}

function MoreFilters({ search, opened, open }: MoreFiltersProps) {
  const t = useTexts();
  const left = furtherFacets.filter((facet) => facet !== opened && !search.facets[facet]);
  if (left.length === 0) return null;
  return (
    <span className={foldable}>
      <QuietSelect
        label={t.filters.more}
        options={left.map((facet) => ({ value: facet, text: t.filters[facet] }))}
        choose={open}
      />
    </span>
  );
}

const toggles = [
  { facet: 'crossTenant', value: 'true', text: 'crossTenantOnly' },
  { facet: 'hasReason', value: 'false', text: 'withoutReason' },
] as const;

/** Offered by the pages that name it, and shown wherever the address has it. */
function FacetToggle(props: Leaving & { facets: readonly FacetName[] } & (typeof toggles)[number]) {
  const { facet, value, text, search, change, facets, leave } = props;
  const t = useTexts();
  const { facetText } = useCriteriaTexts();
  const chosen = search.facets[facet];
  const isSet = chosen !== undefined;
  if (!isSet && !facets.includes(facet)) return null;
  const isUsual = !isSet || chosen.any.includes(value);
  const rest = withoutFacet(search.facets, facet);
  return (
    <Button
      Icon={ShieldAlert}
      className={`aria-pressed:border-warn/50 aria-pressed:bg-warn-soft aria-pressed:text-warn ${isSet ? '' : foldable}`}
      aria-pressed={isSet}
      onClick={() => {
        if (isSet) leave();
        change(changed(search, { facets: isSet ? rest : onlyValue(rest, facet, value) }));
      }}
    >
      {isUsual ? t.filters[text] : `${t.filters[facet]}: ${facetText(search.facets, facet)}`}
    </Button>
  );
}

function RangeChip({ search, change }: Omit<Searching, 'nowMs'>) {
  const t = useTexts();
  const { rangeText } = useCriteriaTexts();
  return (
    <Chip
      label={t.filters.time}
      text={rangeText(search.range)}
      icon={<CalendarRange aria-hidden />}
      picker={(anchor, close) => (
        <RangePicker anchor={anchor} search={search} change={change} close={close} />
      )}
    />
  );
}

/** Set by the address alone, and always shown: an invisible filter would hide events. */
function ReceivedChip({ search, change }: Omit<Searching, 'nowMs'>) {
  const t = useTexts();
  const { receivedText } = useCriteriaTexts();
  const text = receivedText(search.facets);
  if (text === null) return null;
  const { receivedFrom: _from, receivedTo: _to, ...facets } = search.facets;
  return (
    <Button
      Icon={X}
      aria-label={`${t.filters.remove({ what: t.filters.received })}: ${text}`}
      onClick={() => change(changed(search, { facets }))}
    >
      {t.filters.received} {text}
    </Button>
  );
}

interface Leaving extends Searching {
  /** Takes the focus from a chip that a folded bar no longer shows. */
  leave: () => void;
}

interface FacetChipProps extends Leaving {
  facet: FacetName;
  startsOpen: boolean;
}

function FacetChip({ facet, search, nowMs, change, leave, startsOpen }: FacetChipProps) {
  const t = useTexts();
  const { facetText } = useCriteriaTexts();
  const text = facetText(search.facets, facet, useNamesOf(facet, search.facets));
  const clear = () => change(changed(search, { facets: withoutFacet(search.facets, facet) }));
  return (
    <Chip
      label={t.filters[facet]}
      text={text}
      startsOpen={startsOpen}
      clear={text === null ? undefined : clear}
      leave={leave}
      picker={(anchor, close) => (
        <FacetPicker
          anchor={anchor}
          facet={facet}
          search={search}
          nowMs={nowMs}
          change={change}
          close={close}
        />
      )}
    />
  );
}

interface ChipProps {
  label: string;
  /** Its value; null if empty. */
  text: string | null;
  icon?: ReactNode;
  startsOpen?: boolean;
  clear?: (() => void) | undefined;
  leave?: Leaving['leave'];
  picker: (anchor: RefObject<HTMLElement | null>, close: () => void) => ReactNode;
}

function Chip({ label, text, icon, startsOpen = false, clear, leave, picker }: ChipProps) {
  const t = useTexts();
  const [isOpen, setOpen] = useState(startsOpen);
  const anchor = useRef<HTMLButtonElement>(null);
  const held = text !== null && icon === undefined;
  const close = () => {
    // While the picker is there, it keeps the focus within itself.
    flushSync(() => setOpen(false));
    if (text === null) leave?.();
  };
  return (
    <div className={`flex max-w-full min-w-0 ${text === null && !isOpen ? foldable : ''}`}>
      <button
        ref={anchor}
        type="button"
        className={`btn max-w-72 min-w-0 shrink ${held ? 'border-accent/40 bg-accent-soft text-accent' : ''} ${clear ? 'rounded-r-none border-r-0' : ''}`}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {icon}
        {icon ? (
          <span className="sr-only">{label}: </span>
        ) : (
          <span className={held ? 'text-accent' : ''}>{label}</span>
        )}
        {text !== null && <span className="min-w-0 truncate font-normal">{text}</span>}
        <ChevronDown aria-hidden className="text-faint" />
      </button>
      {clear && (
        <Button
          className="w-7 rounded-l-none border-l-0 border-accent/40 bg-accent-soft px-0 text-accent"
          aria-label={t.filters.remove({ what: label })}
          onClick={() => {
            anchor.current?.focus();
            leave?.();
            clear();
          }}
        >
          <X aria-hidden className="size-3.5!" />
        </Button>
      )}
      {isOpen && <Suspense>{picker(anchor, close)}</Suspense>}
    </div>
  );
}

/** The one text that events are searched for; null if the search excludes or combines several. */
function wordsIn({ facets: { q } }: EventSearch): string | null {
  if (q === undefined) return '';
  return q.any.length === 1 && q.none.length === 0 ? (q.any[0] ?? '') : null;
}

/** Words to search for; Enter searches. */
function WordsField(props: Omit<Searching, 'nowMs'> & { words: string }) {
  const { search, words, change } = props;
  const t = useTexts();
  const [text, setText] = useState(words);
  useEffect(() => setText(words), [words]);
  const apply = (text: string) => {
    const value = facetOf('q').normalise(text);
    const rest = withoutFacet(search.facets, 'q');
    if (value !== null) change(changed(search, { facets: onlyValue(rest, 'q', value) }));
    else if (text.trim() === '') change(changed(search, { facets: rest }));
  };
  return (
    <SearchField
      value={text}
      onChange={setText}
      onSubmit={apply}
      onClear={() => apply('')}
      aria-label={t.filters.q}
      className="group relative min-w-52 grow basis-52 sm:max-w-80"
    >
      <Search aria-hidden className="absolute top-2 left-2.5 size-3.5 text-faint" />
      <Input
        className="field h-8 px-8 text-[0.8125rem] [&::-webkit-search-cancel-button]:hidden"
        placeholder={t.filters.typed.q}
      />
      <ClearButton
        aria-label={t.filters.remove({ what: t.filters.q })}
        className="absolute top-1.5 right-1.5 cursor-pointer p-0.5 text-faint group-data-[empty]:hidden"
      >
        <X aria-hidden className="size-3.5" />
      </ClearButton>
    </SearchField>
  );
}
