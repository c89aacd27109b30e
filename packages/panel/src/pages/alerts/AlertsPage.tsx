import { Plus } from 'lucide-react';
import { Button } from '../../components/Button.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { QueryState } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useSession } from '../../session/session-context.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { RaisedAlerts } from './RaisedAlerts.tsx';
import { RuleForm } from './RuleForm.tsx';
import { RuleList } from './RuleList.tsx';
import { useRules } from './use-alerts.ts';

/** Raised alerts, and the rules that raise them. */
export default function AlertsPage() {
  const t = useTexts();
  const rules = useRules();
  const isClosed = useSession().tenant.closedAt !== undefined;
  const [isAdding, setAdding] = useUnfinished('alerts', () => false);
  const add = (
    <Button Icon={Plus} look="primary" disabled={isClosed} onClick={() => setAdding(true)}>
      {t.alerts.create}
    </Button>
  );
  const { own = [], builtIn = [] } = Object.groupBy(rules.data?.data ?? [], (rule) =>
    rule.builtIn === null ? 'own' : 'builtIn',
  );
  return (
    <>
      <PageHead title={t.nav.alerts} intro={t.alerts.intro} actions={add} />
      <RaisedAlerts />
      <QueryState query={rules} />
      <RuleList title={t.alerts.own} rules={own} />
      <RuleList title={t.alerts.builtInTitle} rules={builtIn} />
      {isAdding && <RuleForm title={t.alerts.create} rule={null} close={() => setAdding(false)} />}
    </>
  );
}
