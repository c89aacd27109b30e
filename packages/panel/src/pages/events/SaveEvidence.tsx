import { filterToJson } from '@indelible/protocol';
import { client } from '../../api.ts';
import { TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useChange } from '../../components/use-change.ts';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { CriteriaList } from '../../search/CriteriaList.tsx';
import { type EventSearch, filterAt } from '../../search/event-search.ts';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useGo } from '../../use-location.ts';

interface SaveEvidenceProps {
  search: EventSearch;
  nowMs: number;
  close: () => void;
}

/** Saves the search with its current result, under its own address. */
export default function SaveEvidence({ search, nowMs, close }: SaveEvidenceProps) {
  const t = useTexts();
  const go = useGo();
  const [note, setNote] = useUnfinished('evidence', () => '');
  const filter = filterAt(search, nowMs);
  const { from, to = nowMs } = filter;
  const range = { kind: 'between', ...(from === undefined ? {} : { from }), to } as const;
  const save = useChange(['searches'], () => {
    const filters = filterToJson({ ...filter, to });
    return client.searches.create({ filters, note: note.trim() });
  });
  return (
    <ConfirmSheet
      title={t.evidence.saveTitle}
      confirm={t.buttons.save}
      action={save}
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
    </ConfirmSheet>
  );
}
