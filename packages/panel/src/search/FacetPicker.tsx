import type { FacetName } from '@indelible/protocol';
import { Check, Search } from 'lucide-react';
import { type RefObject, useRef, useState } from 'react';
import {
  Autocomplete,
  Dialog,
  Input,
  ListBox,
  ListBoxItem,
  Popover,
  SearchField,
  type Selection,
  ToggleButton,
  ToggleButtonGroup,
} from 'react-aria-components';
import { ScrollRegion } from '../components/ScrollRegion.tsx';
import { isTooMany, SmallError } from '../components/States.tsx';
import { useFormats, useTexts } from '../i18n/texts.tsx';
import { changed, type EventSearch, type Searching, withoutFacet } from './event-search.ts';
import type { Choice } from './use-choices.ts';
import { type Mode, useOffered } from './use-offered.ts';

interface FacetPickerProps extends Searching {
  anchor: RefObject<HTMLElement | null>;
  facet: FacetName;
  close: () => void;
}

/** The values of one filter with their counts; any of them, or none of them. */
export default function FacetPicker(props: FacetPickerProps) {
  const { anchor, facet, search, nowMs, change, close } = props;
  const t = useTexts();
  const values = search.facets[facet] ?? { any: [], none: [] };
  const [mode, setMode] = useState<Mode>(
    values.any.length === 0 && values.none.length > 0 ? 'none' : 'any',
  );
  const [text, setText] = useState('');
  // The service does not count these values: the reader types them.
  const hint = (t.filters.typed as Partial<Record<FacetName, string>>)[facet];
  const { choices, shown } = useOffered(facet, search, nowMs, { mode, text });
  const input = useRef<HTMLInputElement>(null);
  const retry = () => {
    // The retry button goes away: with the focus in it, keys such as Escape would reach nothing.
    input.current?.focus();
    void choices.refetch();
  };
  const select = (selection: Selection) => {
    const picked = selection === 'all' ? [] : [...selection].map(String);
    change(withPicked(search, facet, mode, picked));
  };
  return (
    <Popover
      triggerRef={anchor}
      isOpen
      onOpenChange={(isOpen) => !isOpen && close()}
      placement="bottom start"
      className="pop w-80"
    >
      <Dialog aria-label={t.filters[facet]} className="flex max-h-96 flex-col outline-none">
        <Modes mode={mode} setMode={setMode} />
        <Autocomplete inputValue={text} onInputChange={setText}>
          <SearchField
            autoFocus
            aria-label={t.filters.find({ what: t.filters[facet] })}
            className="relative mb-1"
          >
            <Search aria-hidden className="absolute top-2.5 left-2.5 size-3.5 text-faint" />
            <Input
              ref={input}
              onKeyDown={({ key }) => key === 'Escape' && close()}
              className="field h-8 pl-8"
              placeholder={hint ?? t.events.search}
            />
          </SearchField>
          <ScrollRegion label={t.filters[facet]} className="min-h-0 flex-1">
            <ListBox
              aria-label={t.filters[facet]}
              items={shown.map((choice) => ({ ...choice, id: choice.value }))}
              selectionMode="multiple"
              // Escape closes the popover and must not clear the selection.
              escapeKeyBehavior="none"
              selectedKeys={values[mode]}
              onSelectionChange={select}
              renderEmptyState={() => <NoChoices choices={choices} hint={hint} retry={retry} />}
            >
              {(choice) => <ChoiceItem choice={choice} />}
            </ListBox>
          </ScrollRegion>
        </Autocomplete>
      </Dialog>
    </Popover>
  );
}

/** The search with these values of the facet; a value is wanted or excluded, not both. */
function withPicked(
  search: EventSearch,
  facet: FacetName,
  mode: Mode,
  picked: readonly string[],
): EventSearch {
  const values = search.facets[facet] ?? { any: [], none: [] };
  const other = mode === 'any' ? 'none' : 'any';
  const next = { any: [], none: [], [other]: values[other].filter((v) => !picked.includes(v)) };
  const rest = withoutFacet(search.facets, facet);
  const isLeft = picked.length + next[other].length > 0;
  return changed(search, {
    facets: isLeft ? { ...rest, [facet]: { ...next, [mode]: picked } } : rest,
  });
}

interface NoChoicesProps {
  choices: ReturnType<typeof useOffered>['choices'];
  hint: string | undefined;
  retry: () => void;
}

/** Not counted yet, not to be had, and none are three things. */
function NoChoices({ choices, hint, retry }: NoChoicesProps) {
  const t = useTexts();
  const tooMany = isTooMany(choices.error);
  if (choices.isError && !tooMany) {
    return (
      <div className="px-2 py-4 text-center">
        <SmallError error={choices.error} retry={retry} />
      </div>
    );
  }
  const none = tooMany ? t.error.tooMany : t.filters.none;
  const text = choices.isLoading ? t.filters.loading : none;
  return <p className="px-2 py-4 text-center text-faint">{hint ?? text}</p>;
}

function Modes({ mode, setMode }: { mode: Mode; setMode: (mode: Mode) => void }) {
  const t = useTexts();
  const tab =
    'h-7 flex-1 cursor-pointer rounded-md text-xs text-muted data-[selected]:bg-surface data-[selected]:font-medium data-[selected]:text-ink data-[selected]:shadow-xs';
  return (
    <ToggleButtonGroup
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[mode]}
      onSelectionChange={(keys) => setMode(keys.has('none') ? 'none' : 'any')}
      className="mb-1.5 flex gap-0.5 rounded-lg bg-sunken p-0.5"
    >
      <ToggleButton id="any" className={tab}>
        {t.filters.anyOf}
      </ToggleButton>
      <ToggleButton id="none" className={tab}>
        {t.filters.noneOf}
      </ToggleButton>
    </ToggleButtonGroup>
  );
}

function ChoiceItem({ choice }: { choice: Choice }) {
  const formats = useFormats();
  return (
    <ListBoxItem id={choice.value} textValue={choice.label} className="option group">
      {({ isSelected }) => (
        <>
          <Check
            aria-hidden
            className={isSelected ? 'text-accent!' : 'opacity-0 group-data-[hovered]:opacity-40'}
          />
          <span dir="auto" className="min-w-0 flex-1 truncate">
            {choice.label}
          </span>
          {choice.count !== null && (
            <span className="text-xs text-faint tabular-nums">{formats.number(choice.count)}</span>
          )}
        </>
      )}
    </ListBoxItem>
  );
}
