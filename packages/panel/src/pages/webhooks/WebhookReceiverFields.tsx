import type { Webhook } from '@indelible/client';
import { Plus, Trash2 } from 'lucide-react';
import { Button, IconButton } from '../../components/Button.tsx';
import { Checkbox, SelectField, TextField } from '../../components/fields.tsx';
import { textOf, useTexts } from '../../i18n/texts.tsx';
import { type DraftProps, type HeaderDraft, keepsCredential, newHeader } from './draft.ts';
import { formatFields, type OptionField } from './formats.ts';
import type { Problems } from './use-problems.ts';

interface ReceiverFieldsProps extends DraftProps {
  /** The stored webhook; null for a new one. */
  stored: Webhook | null;
  problems: Problems;
}

/** The fields of the receiver's format: a credential, and settings. */
export function WebhookReceiverFields(props: ReceiverFieldsProps) {
  const { draft, edit, problems } = props;
  const w = useTexts().webhooks;
  const { credential, options } = formatFields[draft.format];
  return (
    <>
      {credential !== 'none' && <Credential {...props} />}
      {options.length > 0 && (
        <fieldset>
          <legend className="label mb-1.5">
            {w.form.options} ({w.form.optional})
          </legend>
          <div className="grid gap-3 rounded-lg bg-sunken p-3 sm:grid-cols-2">
            {options.map((field) => (
              <Option
                key={field.name}
                field={field}
                value={draft.options[field.name] ?? ''}
                problem={problems.of(`/options/${field.name}`)}
                choose={(value) => edit({ options: { ...draft.options, [field.name]: value } })}
              />
            ))}
          </div>
        </fieldset>
      )}
    </>
  );
}

function Credential({ draft, edit, stored, problems }: ReceiverFieldsProps) {
  const w = useTexts().webhooks;
  if (draft.format === 'webhook') return null;
  const isKept = keepsCredential(draft, stored);
  const needed = formatFields[draft.format].credential === 'required';
  const label = w.form.credential[draft.format];
  return (
    <div>
      <TextField
        label={needed ? label : `${label} (${w.form.optional})`}
        hint={isKept ? w.form.credentialKept : w.form.credentialHint}
        problem={problems.of('/credential')}
        type="password"
        autoComplete="off"
        required={needed && !isKept}
        placeholder={isKept ? '••••••••' : ''}
        value={draft.credential}
        change={(credential) => edit({ credential })}
      />
      {isKept && !needed && (
        <Checkbox
          className="mt-1.5 text-xs text-muted"
          checked={draft.forgetCredential}
          change={(forgetCredential) => edit({ forgetCredential })}
        >
          {w.form.forget}
        </Checkbox>
      )}
    </div>
  );
}

interface OptionProps {
  field: OptionField;
  value: string;
  problem: string | undefined;
  choose: (value: string) => void;
}

function Option({ field, value, problem, choose }: OptionProps) {
  const w = useTexts().webhooks;
  const { name, placeholder, choices } = field;
  const shared = { label: textOf(w.options, name) ?? name, problem };
  if (choices === undefined) {
    return <TextField {...shared} placeholder={placeholder} value={value} change={choose} />;
  }
  return (
    <SelectField
      {...shared}
      value={value === '' ? placeholder : value}
      options={choices.map((choice) => ({
        value: choice,
        text: textOf(w.choices, choice) ?? choice,
      }))}
      choose={choose}
    />
  );
}

interface WebhookHeadersProps extends DraftProps {
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
