import { Plus, Trash2 } from 'lucide-react';
import { Button, IconButton } from '../../components/Button.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { type Draft, type HeaderDraft, newHeader } from './draft.ts';

interface WebhookHeadersProps {
  draft: Draft;
  edit: (change: Partial<Draft>) => void;
  problem: string | undefined;
}

/** The webhook's own headers. The value of a stored one is never shown. */
export function WebhookHeaders({ draft: { headers }, edit, problem }: WebhookHeadersProps) {
  const w = useTexts().webhooks;
  const change = (key: number, part: Partial<HeaderDraft>) =>
    edit({ headers: headers.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  const remove = ({ key, isStored }: HeaderDraft) =>
    isStored
      ? change(key, { isRemoved: true })
      : edit({ headers: headers.filter((each) => each.key !== key) });
  return (
    <fieldset aria-describedby="webhook-headers-below">
      <legend className="label mb-1.5">
        {w.form.headers} ({w.form.optional})
      </legend>
      <div className="space-y-2">
        {headers
          .filter(({ isRemoved }) => !isRemoved)
          .map((header) => (
            <Header
              key={header.key}
              header={header}
              change={(part) => change(header.key, part)}
              remove={() => remove(header)}
            />
          ))}
        <Button Icon={Plus} onClick={() => edit({ headers: [...headers, newHeader(headers)] })}>
          {w.form.headerAdd}
        </Button>
      </div>
      <p
        id="webhook-headers-below"
        className={`mt-1 text-xs text-pretty ${problem === undefined ? 'text-faint' : 'text-del'}`}
      >
        {problem ?? w.form.headersHint}
      </p>
    </fieldset>
  );
}

interface HeaderProps {
  header: HeaderDraft;
  change: (part: Partial<HeaderDraft>) => void;
  remove: () => void;
}

function Header({ header: { name, value, isStored }, change, remove }: HeaderProps) {
  const w = useTexts().webhooks;
  return (
    <div className="flex items-center gap-2">
      <input
        className="field font-mono text-xs"
        aria-label={w.form.headerName}
        placeholder="x-api-key"
        autoComplete="off"
        spellCheck={false}
        readOnly={isStored}
        value={name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <input
        className="field"
        type="password"
        aria-label={w.form.headerValue}
        placeholder={isStored ? '••••••••' : ''}
        autoComplete="off"
        value={value}
        onChange={({ target }) => change({ value: target.value })}
      />
      <IconButton label={w.form.headerRemove({ name })} Icon={Trash2} onClick={remove} />
    </div>
  );
}
