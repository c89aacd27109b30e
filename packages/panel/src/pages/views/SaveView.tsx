import { filterToJson } from '@indelible/protocol';
import { client } from '../../api.ts';
import { Checkbox, TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { CriteriaList } from '../../search/CriteriaList.tsx';
import { type EventSearch, filterAt } from '../../search/event-search.ts';
import { listColumns } from '../../search/list-view.ts';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useViewChange, useViews } from './use-views.ts';

interface SaveViewProps {
  search: EventSearch;
  close: () => void;
}

/** Keeps a search under a name; a view that has this name already gets the search. */
export default function SaveView({ search, close }: SaveViewProps) {
  const t = useTexts();
  const views = useViews({ isAsked: true }).data ?? [];
  const [name, setName] = useUnfinished('view', () => '');
  const [isShared, setShared] = useUnfinished('view shared', () => false);
  const former = views.find((view) => view.name === name.trim());
  const shared = former?.shared ?? isShared;
  const { facets, range } = search;
  const save = useViewChange(() => {
    const isRelative = range.kind === 'last';
    const filters = filterToJson(isRelative ? facets : filterAt(search, 0));
    const last = isRelative ? range.preset : null;
    const { columns } = search.view ?? {};
    const chosen = columns && columns.length < listColumns.length ? [...columns] : null;
    const input = { name: name.trim(), filters, last, columns: chosen, shared };
    return former ? client.views.put(former.id, input) : client.views.create(input);
  });
  return (
    <ConfirmSheet
      title={t.views.saveTitle}
      confirm={former ? t.views.replace : t.buttons.save}
      action={save}
      isReady={name.trim() !== ''}
      close={close}
    >
      <p className="text-muted text-pretty">{t.views.saveText}</p>
      <CriteriaList facets={facets} range={range} />
      <div className="mt-4">
        <TextField
          label={t.views.name}
          hint={former && t.views.replaceText}
          maxLength={200}
          autoComplete="off"
          value={name}
          change={setName}
        />
      </div>
      <Checkbox
        className="mt-2 [&>input]:size-6"
        checked={shared}
        disabled={former !== undefined}
        change={setShared}
      >
        {t.views.share}
      </Checkbox>
    </ConfirmSheet>
  );
}
