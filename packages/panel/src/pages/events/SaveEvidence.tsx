import { filterToJson } from '@indelible/protocol';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { Sheet } from '../../components/Sheet.tsx';
import { errorText } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { CriteriaList } from '../../search/CriteriaList.tsx';
import { type EventSearch, filterAt } from '../../search/event-search.ts';
import { useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { useGo } from '../../use-location.ts';

interface SaveEvidenceProps {
  search: EventSearch;
  nowMs: number;
  close: () => void;
}

/** Keeps the search with what matches it now, under an address of its own. */
export default function SaveEvidence({ search, nowMs, close }: SaveEvidenceProps) {
  const t = useTexts();
  const go = useGo();
  const { all } = useCriteriaTexts();
  const [note, setNote] = useState('');
  const [state, setState] = useState<'idle' | 'busy' | { error: string }>('idle');
  const filter = filterAt(search, nowMs);
  const { from, to } = filter;
  const range = {
    kind: 'between',
    ...(from === undefined ? {} : { from }),
    to: to ?? nowMs,
  } as const;
  const save = (event: FormEvent) => {
    event.preventDefault();
    setState('busy');
    const filters = filterToJson({ ...filter, to: range.to });
    client.searches.create({ filters, note: note.trim() || null }).then(
      ({ id }) => go(paths.search(id)),
      (error: unknown) => setState({ error: errorText(error, t) }),
    );
  };
  return (
    <Sheet title={t.evidence.saveTitle} close={close}>
      <form onSubmit={save}>
        <p className="text-muted text-pretty">{t.evidence.saveText}</p>
        <CriteriaList criteria={all(search.facets, range)} />
        <label className="label mt-4 mb-1.5 block" htmlFor="evidence-note">
          {t.evidence.note}
        </label>
        <input
          id="evidence-note"
          className="field"
          maxLength={500}
          placeholder={t.evidence.noteHint}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
        {typeof state === 'object' && (
          <p role="alert" className="mt-3 text-del">
            {state.error}
          </p>
        )}
        <div className="mt-5 flex justify-end gap-2">
          <button type="button" className="btn" onClick={close}>
            {t.buttons.cancel}
          </button>
          <button type="submit" className="btn btn-primary" disabled={state === 'busy'}>
            {t.buttons.save}
          </button>
        </div>
      </form>
    </Sheet>
  );
}
