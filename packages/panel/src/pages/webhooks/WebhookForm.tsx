import type { NewWebhook, Webhook } from '@indelible/client';
import { client } from '../../api.ts';
import { CheckList, SelectField, TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { FacetsField } from '../../search/FacetsField.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import {
  type Draft,
  type DraftProps,
  draftOf,
  emptyDraft,
  inFormat,
  inputOf,
  typesOf,
  withoutSecrets,
} from './draft.ts';
import { formatFields, webhookFormats } from './formats.ts';
import { useProblems } from './use-problems.ts';
import { useWebhookChange } from './use-webhooks.ts';
import { WebhookHeaders, WebhookReceiverFields } from './WebhookReceiverFields.tsx';

interface WebhookFormProps {
  /** The edited webhook; null for a new one. */
  webhook: Webhook | null;
  /** Called with the service's answer; a new webhook may contain its secret. */
  saved: (webhook: NewWebhook) => void;
  close: () => void;
}

/** A webhook: address, format and events. */
export function WebhookForm({ webhook, saved, close }: WebhookFormProps) {
  const t = useTexts();
  const w = t.webhooks;
  const former = () => (webhook === null ? emptyDraft : draftOf(webhook));
  const name = `webhook ${webhook?.id ?? 'new'}`;
  const [draft, setDraft] = useUnfinished(name, former, withoutSecrets);
  const edit = (change: Partial<Draft>) => setDraft((current) => ({ ...current, ...change }));
  const save = useWebhookChange((): Promise<NewWebhook> => {
    const input = inputOf(draft);
    return webhook === null
      ? client.webhooks.create(input)
      : client.webhooks.update(webhook.id, input);
  });
  const problems = useProblems(save.error, draft.format);
  const isNew = webhook === null;
  return (
    <ConfirmSheet
      title={isNew ? w.form.create : w.form.edit}
      confirm={isNew ? w.form.createIt : t.buttons.save}
      note={isNew && w.form.fromNow}
      width="max-w-xl"
      isReady={draft.url.trim() !== '' && draft.types.length > 0}
      action={problems.isElsewhere ? save : { ...save, error: null }}
      done={saved}
      close={close}
    >
      <div className="space-y-4">
        <SelectField
          label={w.form.format}
          hint={w.formatHints[draft.format]}
          value={draft.format}
          choose={(format) => edit(inFormat(format))}
          options={webhookFormats.map((format) => ({ value: format, text: w.formats[format] }))}
        />
        <TextField
          label={w.form.url}
          hint={w.form.urlHint}
          problem={problems.of('/url')}
          type="url"
          required
          placeholder={formatFields[draft.format].urlExample}
          value={draft.url}
          change={(url) => edit({ url })}
        />
        <TextField
          label={w.form.name}
          hint={w.form.nameHint}
          problem={problems.of('/name')}
          maxLength={200}
          value={draft.name}
          change={(name) => edit({ name })}
        />
        <WebhookReceiverFields draft={draft} edit={edit} stored={webhook} problems={problems} />
        <WebhookHeaders draft={draft} edit={edit} problem={problems.of('/headers')} />
        <Types draft={draft} edit={edit} problem={problems.of('/types')} />
        <Filters draft={draft} edit={edit} problem={problems.of('/filters')} />
      </div>
    </ConfirmSheet>
  );
}

interface PartProps extends DraftProps {
  problem: string | undefined;
}

function Types({ draft, edit, problem }: PartProps) {
  const w = useTexts().webhooks;
  const offered = typesOf(draft.format);
  if (offered.length === 1) return null;
  return (
    <CheckList
      label={w.form.types}
      options={offered.map((type) => ({ value: type, text: w.types[type] }))}
      chosen={draft.types}
      change={(types) => edit({ types })}
      below={
        (problem !== undefined || draft.types.length === 0) && (
          <p className="mt-1 text-xs text-del">{problem ?? w.form.problems.types}</p>
        )
      }
    />
  );
}

function Filters({ draft, edit, problem }: PartProps) {
  const w = useTexts().webhooks;
  if (!draft.types.includes('audit.events.recorded')) return null;
  return (
    <div>
      <FacetsField filters={draft.filters} change={(filters) => edit({ filters })} />
      <p className={`mt-1 text-xs ${problem === undefined ? 'text-faint' : 'text-del'}`}>
        {problem ?? w.form.allEvents}
      </p>
    </div>
  );
}
