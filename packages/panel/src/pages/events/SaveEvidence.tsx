import { IndelibleError, type SavedSearch } from '@indelible/client';
import { type FilterJson, filterToJson, type UnknownValues } from '@indelible/protocol';
import { client } from '../../api.ts';
import { TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useChange } from '../../components/use-change.ts';
import { Verdict } from '../../components/Verdict.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { CriteriaList } from '../../search/CriteriaList.tsx';
import { type EventSearch, filterAt } from '../../search/event-search.ts';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useGo } from '../../use-location.ts';
import { unknownTexts, ValueList } from '../evidence/UnknownVerdict.tsx';

interface SaveEvidenceProps {
  search: EventSearch;
  nowMs: number;
  close: () => void;
}

/** Saves the search with its result under an address; one for unknown values at the second try. */
export default function SaveEvidence({ search, nowMs, close }: SaveEvidenceProps) {
  const t = useTexts();
  const go = useGo();
  const [note, setNote] = useUnfinished('evidence', () => '');
  const filter = filterAt(search, nowMs);
  const { from, to = nowMs } = filter;
  const range = { kind: 'between', ...(from === undefined ? {} : { from }), to } as const;
  const filters = filterToJson({ ...filter, to });
  const save = useChange(['searches'], (unknown: boolean | undefined) =>
    client.searches.create({ filters, note: note.trim(), ...(unknown && { unknown }) }),
  );
  const unknown = unknownTexts(unknownIn(save.error, filters), t);
  const isUnknown = unknown.length > 0;
  return (
    <ConfirmSheet
      title={t.evidence.saveTitle}
      confirm={isUnknown ? t.evidence.saveAnyway : t.buttons.save}
      action={{
        isPending: save.isPending,
        error: isUnknown ? null : save.error,
        mutate: (_, { onSuccess }: { onSuccess: (saved: SavedSearch) => void }) =>
          save.mutate(isUnknown, { onSuccess }),
      }}
      isReady={note.trim() !== ''}
      done={({ id }) => go(paths.search(id))}
      close={close}
    >
      <p className="text-muted text-pretty">{t.evidence.saveText}</p>
      <CriteriaList facets={search.facets} range={range} />
      <div className="mt-4">
        <TextField
          label={t.evidence.note}
          required
          maxLength={500}
          hint={t.evidence.noteHint}
          value={note}
          change={setNote}
        />
      </div>
      {isUnknown && (
        <Verdict look="bad" title={t.evidence.refused} className="mt-4">
          <ValueList texts={unknown} />
          <p>{t.evidence.refusedText}</p>
        </Verdict>
      )}
    </ConfirmSheet>
  );
}

/** The values of the filters that the service has refused, because they occur in no event. */
function unknownIn(error: unknown, filters: FilterJson): UnknownValues {
  const errors = error instanceof IndelibleError ? error.errors : [];
  const unknown: Record<string, string[]> = {};
  for (const { path, code } of errors) {
    if (code !== 'unknown_value') continue;
    const [, , name = '', index] = path.split('/');
    const value = filters[name as keyof UnknownValues]?.[Number(index)];
    if (value !== undefined) unknown[name] = [...(unknown[name] ?? []), value];
  }
  return unknown;
}
