import type { AlertRuleInput, TestedRule } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useMutation } from '@tanstack/react-query';
import { FlaskConical } from 'lucide-react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { ActionError } from '../../components/States.tsx';
import { formatsOf } from '../../i18n/formats.ts';
import { useLanguage, useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';

const daysBack = 90;
const alertsShown = 10;

/** What a rule (or the rule of an id) would have raised in the last 90 days. */
export function Backtest({ rule, isReady }: { rule: string | AlertRuleInput; isReady: boolean }) {
  const t = useTexts();
  const test = useMutation({
    mutationFn: (tested: string | AlertRuleInput) => {
      const since = new Date(Date.now() - daysBack * 86_400_000).toISOString();
      return client.alerts.test(tested, { since });
    },
  });
  return (
    <div className="mt-3">
      <Button
        Icon={FlaskConical}
        disabled={!isReady || test.isPending}
        onClick={() => test.mutate(rule)}
      >
        {test.isPending ? t.alerts.testing : t.alerts.test}
      </Button>
      <ActionError error={test.error} />
      {test.data && <Tested tested={test.data} />}
    </div>
  );
}

/** How many alerts it would have raised when, and the last ones with their events. */
function Tested({ tested: { perDay, total, alerts, matched, dropped } }: { tested: TestedRule }) {
  const { t, formats } = useReader();
  return (
    <div className="mt-3 rounded-lg border border-line p-3">
      <p role="status" className="font-medium">
        {t.alerts.tested({ count: total })}
        <span className="font-normal text-muted">
          {` · ${t.alerts.matched({ count: matched })}`}
          {dropped > 0 && ` · ${t.alerts.dropped({ count: dropped })}`}
        </span>
      </p>
      {total > 0 && <Days perDay={perDay} />}
      <ul className="mt-2 space-y-1 text-xs empty:hidden">
        {alerts
          .slice(-alertsShown)
          .reverse()
          .map(({ at, events, group }) => (
            <li key={`${at} ${events[0]?.id}`} className="flex flex-wrap gap-x-2">
              <span className="tabular-nums">{formats.dateTime(at)}</span>
              <span dir="auto" className="break-all text-muted">
                {revealed(Object.values(group).join(' · '))}
              </span>
              <EventLinks ids={events.map(({ id }) => id)} />
            </li>
          ))}
      </ul>
    </div>
  );
}

const height = 48;

/** Alerts a day as bars. The days are those of UTC. */
function Days({ perDay }: Pick<TestedRule, 'perDay'>) {
  const t = useTexts();
  const formats = formatsOf(useLanguage(), 'UTC');
  const highest = Math.max(...perDay.map((day) => day.alerts));
  return (
    <>
      <svg
        viewBox={`0 0 ${perDay.length * 10} ${height}`}
        preserveAspectRatio="none"
        className="mt-2 h-12 w-full border-b border-line"
        aria-hidden="true"
      >
        {perDay.map((each, index) => {
          const size = each.alerts === 0 ? 0 : Math.max(2, (each.alerts / highest) * height);
          const box = { x: index * 10 + 1, y: height - size, width: 8, height: size };
          return <rect key={each.day} {...box} className="fill-warn-bar" />;
        })}
      </svg>
      <p aria-hidden className="flex justify-between text-2xs text-faint tabular-nums">
        <span>{formats.shortDay(perDay[0]?.day ?? 0)}</span>
        <span>{t.alerts.perDay({ n: highest })}</span>
        <span>{formats.shortDay(perDay.at(-1)?.day ?? 0)}</span>
      </p>
      <ul className="sr-only">
        {perDay
          .filter(({ alerts }) => alerts > 0)
          .map(({ day, alerts }) => (
            <li key={day}>
              {formats.day(day)}: {formats.number(alerts)}
            </li>
          ))}
      </ul>
    </>
  );
}

/** Links to the events that set an alert off. */
export function EventLinks({ ids }: { ids: readonly string[] }) {
  const t = useTexts();
  return ids.slice(-alertsShown).map((id, index) => (
    <AppLink key={id} href={paths.event(id)} className="link inline-flex min-h-6 items-center">
      {t.alerts.event({ n: index + 1 })}
    </AppLink>
  ));
}
