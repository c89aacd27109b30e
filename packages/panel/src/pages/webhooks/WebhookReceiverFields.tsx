import type { Webhook } from '@indelible/client';
import { SelectField, TextField } from '../../components/fields.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { type Draft, keepsCredential } from './draft.ts';
import { formatFields, type OptionField } from './formats.ts';
import type { Problems } from './use-problems.ts';

interface ReceiverFieldsProps {
  draft: Draft;
  edit: (change: Partial<Draft>) => void;
  /** As stored; null for a new one. */
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
        <label className="mt-1.5 flex items-center gap-2 text-xs text-muted">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={draft.forgetCredential}
            onChange={({ target }) => edit({ forgetCredential: target.checked })}
          />
          {w.form.forget}
        </label>
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
  const shared = { label: textOf(w.options, name), problem, change: choose };
  if (choices === undefined) return <TextField {...{ ...shared, placeholder, value }} />;
  return (
    <SelectField
      {...shared}
      value={value === '' ? placeholder : value}
      options={choices.map((choice) => ({ value: choice, text: textOf(w.choices, choice) }))}
    />
  );
}

function textOf(texts: Readonly<Record<string, string>>, name: string): string {
  return texts[name] ?? name;
}
