import type { AlertRule } from '@indelible/client';
import { alertGrouping, alertGroups, alertKinds, alertLimits } from '@indelible/protocol';
import { useState } from 'react';
import { client } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { FormField } from '../../components/FormField.tsx';
import { Sheet } from '../../components/Sheet.tsx';
import { ActionError } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { emptySearch } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { serviceNow } from '../../service-clock.ts';
import { useMay } from '../../session/session-context.tsx';
import { useWebhookList } from '../webhooks/use-webhooks.ts';
import { Backtest } from './Backtest.tsx';
import { draftOf, inputOf, isComplete, limitNames, newRule, type RuleDraft } from './rule-draft.ts';
import { useAlertChange } from './use-alerts.ts';

interface RuleFormProps {
  /** Null for a new one. */
  rule: AlertRule | null;
  close: () => void;
}

/** Makes or changes a rule, which can be tested on the past before it is saved. */
export default function RuleForm({ rule, close }: RuleFormProps) {
  const t = useTexts();
  const [draft, setDraft] = useState(() => (rule === null ? newRule : draftOf(rule)));
  const edit = (change: Partial<RuleDraft>) => setDraft((former) => ({ ...former, ...change }));
  const input = inputOf(draft);
  const isReady = isComplete(draft);
  const save = useAlertChange(() =>
    rule === null ? client.alerts.create(input) : client.alerts.update(rule.id, input),
  );
  return (
    <Sheet
      title={rule === null ? t.alerts.create : t.alerts.edit}
      close={close}
      width="max-w-xl"
      dismissable={!save.isPending}
    >
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined, { onSuccess: close });
        }}
      >
        <FormField label={t.alerts.name}>
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
        <KindFields draft={draft} edit={edit} />
        <Events draft={draft} edit={edit} />
        <Told draft={draft} edit={edit} />
        <Backtest rule={{ ...input, name: input.name || '–' }} isReady={isReady} />
        <ActionError error={save.error} />
        <div className="flex justify-end gap-2 border-t border-line pt-4">
          <Button disabled={save.isPending} onClick={close}>
            {t.buttons.cancel}
          </Button>
          <Button look="primary" type="submit" disabled={save.isPending || !isReady}>
            {t.buttons.save}
          </Button>
        </div>
      </form>
    </Sheet>
  );
}

interface DraftProps {
  draft: RuleDraft;
  edit: (change: Partial<RuleDraft>) => void;
}

/** The kind, and the numbers and the group that it has. */
function KindFields({ draft, edit }: DraftProps) {
  const t = useTexts();
  const { kind, limits, groupBy } = draft;
  const grouping = alertGrouping[kind];
  return (
    <>
      <FormField label={t.alerts.kind} hint={t.alerts.kindHints[kind]}>
        {(ties) => (
          <select
            {...ties}
            className="field"
            value={kind}
            onChange={({ target }) =>
              edit({ kind: alertKinds.find((each) => each === target.value) ?? 'match' })
            }
          >
            {alertKinds.map((each) => (
              <option key={each} value={each}>
                {t.alerts.kinds[each]}
              </option>
            ))}
          </select>
        )}
      </FormField>
      {limitNames.map((limit) => {
        const range = alertLimits[kind][limit];
        return (
          range && (
            <FormField key={limit} label={t.alerts.limits[limit]}>
              {(ties) => (
                <input
                  {...ties}
                  {...{ type: 'number', min: range.min, max: range.max }}
                  className="field"
                  placeholder={range.preset === undefined ? '' : String(range.preset)}
                  value={limits[limit]}
                  onChange={({ target }) => edit({ limits: { ...limits, [limit]: target.value } })}
                />
              )}
            </FormField>
          )
        );
      })}
      {grouping !== 'none' && (
        <FormField label={t.alerts.groupBy}>
          {(ties) => (
            <select
              {...ties}
              className="field"
              value={groupBy}
              onChange={({ target }) =>
                edit({ groupBy: alertGroups.find((each) => each === target.value) ?? '' })
              }
            >
              <option value="">{grouping === 'required' ? '–' : t.alerts.together}</option>
              {alertGroups.map((each) => (
                <option key={each} value={each}>
                  {t.alerts[kind === 'first_seen' ? 'newFor' : 'groups'][each]}
                </option>
              ))}
            </select>
          )}
        </FormField>
      )}
    </>
  );
}

const always = { ...emptySearch, range: { kind: 'last', preset: 'all' } } as const;

function Events({ draft, edit }: DraftProps) {
  const t = useTexts();
  const [nowMs] = useState(serviceNow);
  return (
    <div>
      <p className="label mb-1.5">{t.nav.events}</p>
      <FilterBar
        search={{ ...always, facets: draft.facets }}
        nowMs={nowMs}
        change={({ facets }) => edit({ facets })}
        withRange={false}
      />
    </div>
  );
}

/** Who is told of the rule's alerts. */
function Told({ draft, edit }: DraftProps) {
  const t = useTexts();
  const mayChoose = useMay('webhooks:write');
  return (
    <>
      <FormField label={t.alerts.emails} hint={t.alerts.emailsHint}>
        {(ties) => (
          <input
            {...ties}
            className="field"
            value={draft.emails}
            onChange={({ target }) => edit({ emails: target.value, mailsNobody: false })}
          />
        )}
      </FormField>
      {mayChoose && <ToldWebhooks draft={draft} edit={edit} />}
    </>
  );
}

function ToldWebhooks({ draft: { webhookIds }, edit }: DraftProps) {
  const t = useTexts();
  const listed = useWebhookList().data ?? [];
  const offered = listed.filter(({ types }) => types.includes('audit.alert.raised'));
  if (offered.length === 0) return null;
  const chosen = webhookIds ?? [];
  const toggle = (id: string, on: boolean) => {
    const next = on ? [...chosen, id] : chosen.filter((each) => each !== id);
    edit({ webhookIds: next.length === 0 ? null : next });
  };
  return (
    <fieldset>
      <legend className="label mb-1.5">{t.alerts.webhooks}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-1">
        {offered.map(({ id, name, url }) => (
          <label key={id} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={chosen.includes(id)}
              onChange={({ target }) => toggle(id, target.checked)}
            />
            <bdi className="break-all">{name ?? url}</bdi>
          </label>
        ))}
      </div>
      <p className="mt-1 text-xs text-faint">{t.alerts.webhooksHint}</p>
    </fieldset>
  );
}
