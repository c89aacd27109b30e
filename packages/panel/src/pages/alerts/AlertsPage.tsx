import type { AlertRule } from '@indelible/client';
import { Plus } from 'lucide-react';
import { client } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { QueryState } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useSession } from '../../session/session-context.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { RaisedAlerts } from './RaisedAlerts.tsx';
import { RuleForm } from './RuleForm.tsx';
import { RuleList } from './RuleList.tsx';
import { useAlertChange, useRules } from './use-alerts.ts';

type Opened = { kind: 'form' | 'remove'; rule: AlertRule } | { kind: 'form'; rule: null } | null;

/** Raised alerts, and the rules that raise them. */
export default function AlertsPage() {
  const t = useTexts();
  const rules = useRules();
  const isClosed = useSession().tenant.closedAt !== undefined;
  const [opened, setOpened] = useUnfinished<Opened>('alerts', () => null);
  const close = () => setOpened(null);
  const actions = {
    edit: (rule: AlertRule) => setOpened({ kind: 'form', rule }),
    remove: (rule: AlertRule) => setOpened({ kind: 'remove', rule }),
  };
  const add = (
    <Button
      Icon={Plus}
      look="primary"
      disabled={isClosed}
      onClick={() => setOpened({ kind: 'form', rule: null })}
    >
      {t.alerts.create}
    </Button>
  );
  const isOwn = ({ builtIn }: AlertRule) => builtIn === null;
  const all = rules.data?.data ?? [];
  return (
    <>
      <PageHead title={t.nav.alerts} intro={t.alerts.intro} actions={add} />
      <RaisedAlerts />
      <QueryState query={rules} />
      <RuleList title={t.alerts.own} rules={all.filter(isOwn)} {...actions} />
      <RuleList
        title={t.alerts.builtInTitle}
        rules={all.filter((rule) => !isOwn(rule))}
        {...actions}
      />
      {opened?.kind === 'form' && <RuleForm rule={opened.rule} close={close} />}
      {opened?.kind === 'remove' && opened.rule && <RemoveRule rule={opened.rule} close={close} />}
    </>
  );
}

function RemoveRule({ rule, close }: { rule: AlertRule; close: () => void }) {
  const t = useTexts();
  const remove = useAlertChange(() => client.alerts.remove(rule.id));
  return (
    <ConfirmSheet
      title={t.alerts.remove({ name: rule.name })}
      confirm={t.buttons.delete}
      isDanger
      action={remove}
      close={close}
    >
      <p className="text-muted">{t.alerts.removeText}</p>
    </ConfirmSheet>
  );
}
