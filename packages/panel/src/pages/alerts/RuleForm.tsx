import type { AlertRule } from '@indelible/client';
import {
  alertGrouping,
  alertGroups,
  alertKinds,
  alertLimits,
  isEmail,
  limitNames,
  revealed,
} from '@indelible/protocol';
import { client } from '../../api.ts';
import { CheckList, SelectField, TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { FacetsField } from '../../search/FacetsField.tsx';
import { useMay } from '../../session/session-context.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useWebhookList } from '../webhooks/use-webhooks.ts';
import { Backtest } from './Backtest.tsx';
import {
  builtInInputOf,
  draftOf,
  inputOf,
  isComplete,
  isInRange,
  newRule,
  type RuleDraft,
} from './rule-draft.ts';
import { useAlertChange } from './use-alerts.ts';

interface RuleFormProps {
  title: string;
  /** Null for a new one. */
  rule: AlertRule | null;
  close: () => void;
}

/** Makes or changes a rule, which can be tested on the past before it is saved. */
export function RuleForm({ title, rule, close }: RuleFormProps) {
  const t = useTexts();
  const name = `rule ${rule?.id ?? 'new'}`;
  const [draft, setDraft] = useUnfinished(name, () => (rule === null ? newRule : draftOf(rule)));
  const edit = (change: Partial<RuleDraft>) => setDraft((former) => ({ ...former, ...change }));
  const mayChoose = useMay('webhooks:write');
  const input = inputOf(draft);
  const isReady = isComplete(draft);
  const isBuiltIn = rule !== null && rule.builtIn !== null;
  const change = isBuiltIn ? builtInInputOf(draft) : input;
  const save = useAlertChange(() =>
    rule === null ? client.alerts.create(input) : client.alerts.update(rule.id, change),
  );
  const wrong = (input.notify?.emails ?? []).filter((email) => !isEmail(email)).join(', ');
  const awaiting = (rule?.awaitingConfirmation ?? []).join(', ');
  // Half-typed addresses do not matter to a test.
  const { notify, ...tested } = { ...input, name: input.name || '–' };
  return (
    <ConfirmSheet
      title={title}
      confirm={t.buttons.save}
      width="max-w-xl"
      action={save}
      isReady={isReady && wrong === ''}
      close={close}
    >
      <div className="space-y-4">
        {!isBuiltIn && <NameAndKind draft={draft} edit={edit} />}
        <Limits draft={draft} edit={edit} />
        {!isBuiltIn && <Events draft={draft} edit={edit} />}
        <TextField
          label={t.alerts.emails}
          hint={t.alerts.emailsHint}
          problem={wrong === '' ? undefined : t.alerts.emailsWrong({ emails: revealed(wrong) })}
          value={draft.emails}
          change={(emails) => edit({ emails, mailsNobody: false })}
        />
        {awaiting !== '' && (
          <p className="text-xs text-faint wrap-anywhere">
            {t.alerts.awaiting({ emails: revealed(awaiting) })}
          </p>
        )}
        {mayChoose && <ToldWebhooks draft={draft} edit={edit} />}
        <Backtest rule={tested} isReady={isReady} />
      </div>
    </ConfirmSheet>
  );
}

interface DraftProps {
  draft: RuleDraft;
  edit: (change: Partial<RuleDraft>) => void;
}

function NameAndKind({ draft: { name, kind }, edit }: DraftProps) {
  const t = useTexts();
  return (
    <>
      <TextField
        label={t.alerts.name}
        maxLength={200}
        value={name}
        change={(typed) => edit({ name: typed })}
      />
      <SelectField
        label={t.alerts.kind}
        hint={t.alerts.kindHints[kind]}
        value={kind}
        choose={(chosen) => edit({ kind: chosen })}
        options={alertKinds.map((each) => ({ value: each, text: t.alerts.kinds[each] }))}
      />
    </>
  );
}

/** The numbers that the kind has. */
function Limits({ draft: { kind, limits }, edit }: DraftProps) {
  const { t, formats } = useReader();
  return limitNames.map((limit) => {
    const range = alertLimits[kind][limit];
    if (range === undefined) return null;
    const allowed = `${formats.number(range.min)} – ${formats.number(range.max)}`;
    return (
      <TextField
        key={limit}
        label={t.alerts.limits[limit]}
        hint={allowed}
        problem={limits[limit] === '' || isInRange(limits[limit], range) ? undefined : allowed}
        type="number"
        min={range.min}
        max={range.max}
        placeholder={range.preset === undefined ? '' : String(range.preset)}
        value={limits[limit]}
        change={(value) => edit({ limits: { ...limits, [limit]: value } })}
      />
    );
  });
}

/** The events that count, what they have in common, and what must follow. */
function Events({ draft: { kind, groupBy, filters, followedBy }, edit }: DraftProps) {
  const t = useTexts();
  const grouping = alertGrouping[kind];
  return (
    <>
      {grouping !== 'none' && (
        <SelectField
          label={t.alerts.groupBy}
          value={groupBy}
          choose={(chosen) => edit({ groupBy: chosen })}
          options={[
            { value: '' as const, text: grouping === 'required' ? '–' : t.alerts.together },
            ...alertGroups.map((each) => ({
              value: each,
              text: t.alerts[kind === 'first_seen' ? 'newFor' : 'groups'][each],
            })),
          ]}
        />
      )}
      <FacetsField filters={filters} change={(chosen) => edit({ filters: chosen })} />
      {kind === 'threshold' && (
        <section aria-label={t.alerts.followedBy}>
          <FacetsField
            label={t.alerts.followedBy}
            filters={followedBy}
            change={(chosen) => edit({ followedBy: chosen })}
          />
          <p className="mt-1 text-xs text-faint">{t.alerts.followedByHint}</p>
        </section>
      )}
    </>
  );
}

function ToldWebhooks({ draft: { webhookIds }, edit }: DraftProps) {
  const t = useTexts();
  const listed = useWebhookList().data ?? [];
  const offered = listed.filter(({ types }) => types.includes('audit.alert.raised'));
  if (offered.length === 0) return null;
  return (
    <CheckList
      label={t.alerts.webhooks}
      options={offered.map(({ id, name, url }) => ({ value: id, text: revealed(name ?? url) }))}
      chosen={webhookIds ?? []}
      change={(ids) => edit({ webhookIds: ids.length === 0 ? null : ids })}
      below={<p className="mt-1 text-xs text-faint">{t.alerts.webhooksHint}</p>}
    />
  );
}
