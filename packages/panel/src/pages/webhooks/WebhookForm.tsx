import type { NewWebhook, Webhook } from '@indelible/client';
import { webhookFacets } from '@indelible/protocol';
import { type FormEvent, useState } from 'react';
import { client } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { FormField } from '../../components/FormField.tsx';
import { Sheet } from '../../components/Sheet.tsx';
import { ActionError } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { emptySearch } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { serviceNow } from '../../service-clock.ts';
import { type Draft, draftOf, emptyDraft, inFormat, inputOf, typesOf } from './draft.ts';
import { formatFields, webhookFormats } from './formats.ts';
import { type Problems, useProblems } from './use-problems.ts';
import { useWebhookChange } from './use-webhooks.ts';
import { WebhookHeaders } from './WebhookHeaders.tsx';
import { WebhookReceiverFields } from './WebhookReceiverFields.tsx';

interface WebhookFormProps {
  /** The edited webhook; null for a new one. */
  webhook: Webhook | null;
  /** Called with the service's answer; a new webhook may contain its secret. */
  saved: (webhook: NewWebhook) => void;
  close: () => void;
}

/** A webhook: address, format and events. */
export default function WebhookForm({ webhook, saved, close }: WebhookFormProps) {
  const t = useTexts();
  const w = t.webhooks;
  const [draft, setDraft] = useState(() => (webhook === null ? emptyDraft : draftOf(webhook)));
  const edit = (change: Partial<Draft>) => setDraft((current) => ({ ...current, ...change }));
  const save = useWebhookChange((): Promise<NewWebhook> => {
    const input = inputOf(draft);
    return webhook === null
      ? client.webhooks.create(input)
      : client.webhooks.update(webhook.id, input);
  });
  const problems = useProblems(save.error, draft.format);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined, { onSuccess: saved });
  };
  return (
    <Sheet
      title={webhook === null ? w.form.create : w.form.edit}
      close={close}
      width="max-w-xl"
      dismissable={!save.isPending}
    >
      <form onSubmit={submit} className="space-y-4" noValidate>
        <FormatChoice draft={draft} edit={edit} />
        <Where draft={draft} edit={edit} problems={problems} />
        <WebhookReceiverFields draft={draft} edit={edit} stored={webhook} problems={problems} />
        <WebhookHeaders draft={draft} edit={edit} problem={problems.of('/headers')} />
        <Types draft={draft} edit={edit} problem={problems.of('/types')} />
        <Filters draft={draft} edit={edit} problem={problems.of('/filters')} />
        {problems.isElsewhere && <ActionError error={save.error} className="" />}
        <Buttons
          isNew={webhook === null}
          isBusy={save.isPending}
          isComplete={draft.url.trim() !== '' && draft.types.length > 0}
          close={close}
        />
      </form>
    </Sheet>
  );
}

interface PartProps {
  draft: Draft;
  edit: (change: Partial<Draft>) => void;
}

function Where({ draft, edit, problems }: PartProps & { problems: Problems }) {
  const w = useTexts().webhooks;
  return (
    <>
      <FormField label={w.form.url} hint={w.form.urlHint} problem={problems.of('/url')}>
        {(ties) => (
          <input
            {...ties}
            type="url"
            required
            className="field"
            placeholder={formatFields[draft.format].urlExample}
            value={draft.url}
            onChange={({ target }) => edit({ url: target.value })}
          />
        )}
      </FormField>
      <FormField label={w.form.name} hint={w.form.nameHint} problem={problems.of('/name')}>
        {(ties) => (
          <input
            {...ties}
            className="field"
            maxLength={200}
            value={draft.name}
            onChange={({ target }) => edit({ name: target.value })}
          />
        )}
      </FormField>
    </>
  );
}

function FormatChoice({ draft, edit }: PartProps) {
  const w = useTexts().webhooks;
  return (
    <FormField label={w.form.format} hint={w.formatHints[draft.format]}>
      {(ties) => (
        <select
          {...ties}
          className="field"
          value={draft.format}
          onChange={({ target }) => {
            const format = webhookFormats.find((each) => each === target.value) ?? 'webhook';
            edit(inFormat(format));
          }}
        >
          {webhookFormats.map((format) => (
            <option key={format} value={format}>
              {w.formats[format]}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

function Types({ draft, edit, problem }: PartProps & { problem: string | undefined }) {
  const w = useTexts().webhooks;
  const offered = typesOf(draft.format);
  if (offered.length === 1) return null;
  const toggle = (type: string, on: boolean) =>
    edit({ types: offered.filter((each) => (each === type ? on : draft.types.includes(each))) });
  return (
    <fieldset>
      <legend className="label mb-1.5">{w.form.types}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-1">
        {offered.map((type) => (
          <label key={type} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={draft.types.includes(type)}
              onChange={({ target }) => toggle(type, target.checked)}
            />
            {w.types[type]}
          </label>
        ))}
      </div>
      {(problem !== undefined || draft.types.length === 0) && (
        <p className="mt-1 text-xs text-del">{problem ?? w.form.problems.types}</p>
      )}
    </fieldset>
  );
}

interface ButtonsProps {
  isNew: boolean;
  isBusy: boolean;
  isComplete: boolean;
  close: () => void;
}

function Buttons({ isNew, isBusy, isComplete, close }: ButtonsProps) {
  const t = useTexts();
  const w = t.webhooks;
  return (
    <div className="flex flex-wrap items-center justify-end gap-2 border-t border-line pt-4">
      {isNew && <p className="mr-auto text-xs text-muted text-pretty">{w.form.fromNow}</p>}
      <Button disabled={isBusy} onClick={close}>
        {t.buttons.cancel}
      </Button>
      <Button look="primary" type="submit" disabled={isBusy || !isComplete}>
        {isNew ? w.form.createIt : t.buttons.save}
      </Button>
    </div>
  );
}

/** Choices are counted over all retained events. */
const everything = { ...emptySearch, range: { kind: 'last', preset: 'all' } as const };

function Filters({ draft, edit, problem }: PartProps & { problem: string | undefined }) {
  const t = useTexts();
  const w = t.webhooks;
  const [nowMs] = useState(serviceNow);
  if (!draft.types.includes('audit.events.recorded')) return null;
  return (
    <div>
      <p className="label mb-1.5">{t.nav.events}</p>
      <FilterBar
        search={{ ...everything, facets: draft.facets }}
        nowMs={nowMs}
        change={({ facets }) => edit({ facets })}
        facets={webhookFacets}
        withRange={false}
      />
      <p className={`mt-1 text-xs ${problem === undefined ? 'text-faint' : 'text-del'}`}>
        {problem ?? w.form.allEvents}
      </p>
    </div>
  );
}
