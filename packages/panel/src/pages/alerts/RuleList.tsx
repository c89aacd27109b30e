import type { AlertRule } from '@indelible/client';
import { limitNames, revealed } from '@indelible/protocol';
import { Bell, BellOff, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { IconButton } from '../../components/Button.tsx';
import { SelectField } from '../../components/fields.tsx';
import { List } from '../../components/paged-list.tsx';
import { ConfirmSheet, RemoveSheet } from '../../components/Sheet.tsx';
import { ActionError } from '../../components/States.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { serviceNow } from '../../service-clock.ts';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { Backtest } from './Backtest.tsx';
import { RuleForm } from './RuleForm.tsx';
import { isMuted, useAlertChange } from './use-alerts.ts';

/** Rules with a switch each. */
export function RuleList({ title, rules }: { title: string; rules: readonly AlertRule[] }) {
  if (rules.length === 0) return null;
  return (
    <section className="mx-4 mb-8 lg:mx-6">
      <h2 className="mb-2 font-semibold">{title}</h2>
      <List items={rules}>{(rule) => <Rule key={rule.id} rule={rule} />}</List>
    </section>
  );
}

interface RuleProps {
  rule: AlertRule;
}

function Rule({ rule }: RuleProps) {
  const t = useTexts();
  const { name, why, act } = useRuleText(rule);
  const [isOpen, setOpen] = useState(false);
  const change = useAlertChange((enabled: boolean) => client.alerts.update(rule.id, { enabled }));
  return (
    <li className="px-4 py-3 text-[0.8125rem]">
      <div className="flex items-start gap-3">
        <button
          type="button"
          role="switch"
          aria-checked={rule.enabled}
          aria-label={t.alerts.on({ name })}
          className="mt-0.5 group flex h-6 w-10 shrink-0 cursor-pointer items-center rounded-full border border-edge bg-sunken px-0.5 aria-checked:justify-end aria-checked:border-accent aria-checked:bg-accent"
          onClick={() => change.mutate(!rule.enabled)}
        >
          <span className="size-4.5 rounded-full bg-edge shadow group-aria-checked:bg-raised" />
        </button>
        <div className="min-w-0 grow">
          <button
            type="button"
            aria-expanded={isOpen}
            dir="auto"
            className="min-h-6 cursor-pointer text-left font-medium wrap-anywhere hover:underline"
            onClick={() => setOpen(!isOpen)}
          >
            {name}
          </button>
          <RuleFacts rule={rule} />
          {why && <p className="mt-1 text-pretty">{why}</p>}
          {isOpen && act && (
            <p className="mt-1 text-pretty text-muted">
              {t.alerts.whatToDo} {act}
            </p>
          )}
          <ActionError error={change.error} />
        </div>
        <Actions rule={rule} />
      </div>
      {isOpen && <Backtest rule={rule.id} isReady />}
    </li>
  );
}

/** Kind, limits and filters in words, and whether it is muted. */
function RuleFacts({ rule }: RuleProps) {
  const { t, formats } = useReader();
  const { stored } = useCriteriaTexts();
  const [nowMs] = useState(serviceNow);
  const criteriaOf = (filters: AlertRule['filters']) => {
    const shown = stored(filters).filter(({ name }) => name !== t.filters.time);
    return shown.map(({ name, text }) => `${name}: ${text}`);
  };
  const muted = isMuted(rule, nowMs) && rule.mutedUntil;
  const awaiting = revealed(rule.awaitingConfirmation.join(', '));
  return (
    <p className="mt-0.5 text-xs text-muted wrap-anywhere">
      {[
        ...(muted ? [t.alerts.mutedUntil({ when: formats.dateTime(muted) })] : []),
        t.alerts.kinds[rule.kind],
        ...limitNames.flatMap((limit) =>
          rule[limit] === undefined ? [] : [`${t.alerts.limits[limit]}: ${rule[limit]}`],
        ),
        ...criteriaOf(rule.filters),
        ...criteriaOf(rule.followedBy ?? {}).map((text) => `${t.alerts.followedBy} ${text}`),
        ...(awaiting === '' ? [] : [t.alerts.awaiting({ emails: awaiting })]),
        ...(rule.dropped > 0 ? [t.alerts.dropped({ count: rule.dropped })] : []),
        ...(rule.builtIn !== null && !rule.recommended ? [t.alerts.ringsOften] : []),
      ].join(' · ')}
    </p>
  );
}

function Actions({ rule }: RuleProps) {
  const t = useTexts();
  const { id, builtIn } = rule;
  const { name } = useRuleText(rule);
  const [nowMs] = useState(serviceNow);
  const [open, setOpen] = useUnfinished<'form' | 'mute' | 'remove' | null>(id, () => null);
  const close = () => setOpen(null);
  const muted = isMuted(rule, nowMs);
  const unmute = useAlertChange(() => client.alerts.mute(id, null));
  const remove = useAlertChange(() => client.alerts.remove(id));
  const removal = t.alerts.remove({ name });
  const edit = t.alerts.change({ name });
  return (
    <div className="no-print flex shrink-0">
      {rule.enabled && (
        <IconButton
          Icon={muted ? Bell : BellOff}
          label={muted ? t.alerts.unmute({ name }) : t.alerts.mute({ name })}
          disabled={unmute.isPending}
          onClick={() => (muted ? unmute.mutate(undefined) : setOpen('mute'))}
        />
      )}
      <IconButton Icon={Pencil} label={edit} onClick={() => setOpen('form')} />
      {builtIn === null && (
        <IconButton Icon={Trash2} label={removal} onClick={() => setOpen('remove')} />
      )}
      {open === 'form' && <RuleForm title={edit} rule={rule} close={close} />}
      {open === 'mute' && <MuteSheet id={id} name={name} close={close} />}
      {open === 'remove' && (
        <RemoveSheet title={removal} text={t.alerts.removeText} action={remove} close={close} />
      )}
    </div>
  );
}

const hours = [1, 24, 7 * 24, 29 * 24, 89 * 24];
const later = (fromMs: number, count: number) => fromMs + count * 3_600_000;

/** Asks how long no message tells of a rule's alerts. */
function MuteSheet({ id, name, close }: { id: string; name: string; close: () => void }) {
  const { t, formats } = useReader();
  const [chosen, setChosen] = useState(String(7 * 24));
  const mute = useAlertChange(() =>
    client.alerts.mute(id, new Date(later(serviceNow(), Number(chosen))).toISOString()),
  );
  return (
    <ConfirmSheet
      title={t.alerts.mute({ name })}
      confirm={t.alerts.muteIt}
      action={mute}
      close={close}
    >
      <SelectField
        label={t.alerts.muteFor}
        hint={t.alerts.muteText}
        value={chosen}
        choose={setChosen}
        options={hours.map((each) => ({
          value: String(each),
          text: formats.relative(later(0, each), 0),
        }))}
      />
    </ConfirmSheet>
  );
}

type Named = Pick<AlertRule, 'name' | 'builtIn'>;

/** A built-in rule in the reader's language, with why and what to do; others by their name. */
function useRuleText({ name, builtIn }: Named): {
  name: string;
  why?: string;
  act?: string;
} {
  const { builtIn: known } = useTexts().alerts;
  const isKnown = builtIn !== null && Object.hasOwn(known, builtIn);
  return isKnown ? known[builtIn as keyof typeof known] : { name: revealed(name) };
}
