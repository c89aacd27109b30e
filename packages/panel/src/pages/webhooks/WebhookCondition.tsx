import type { Webhook } from '@indelible/client';
import { CircleCheck, CirclePause, CircleX, Hourglass, Send } from 'lucide-react';
import { useFormats, useTexts } from '../../i18n/texts.tsx';
import { serviceNow } from '../../service-clock.ts';
import { type Condition, conditionOf } from './condition.ts';

const looks: Readonly<Record<Condition, { tone: string; Icon: typeof Send }>> = {
  current: { tone: 'badge-add', Icon: CircleCheck },
  behind: { tone: 'badge-accent', Icon: Send },
  failing: { tone: 'badge-warn', Icon: Hourglass },
  stopped: { tone: 'badge-del', Icon: CircleX },
  gone: { tone: 'badge-del', Icon: CircleX },
  paused: { tone: 'badge-plain', Icon: CirclePause },
};

/** The condition of a webhook, in a word. */
export function ConditionBadge({ webhook }: { webhook: Webhook }) {
  const t = useTexts().webhooks;
  const condition = conditionOf(webhook);
  const { tone, Icon } = looks[condition];
  return (
    <span className={`badge ${tone}`}>
      <Icon aria-hidden />
      {t.condition[condition]}
    </span>
  );
}

/** The condition in sentences: what the webhook waits for, and what happens to later events. */
export function useConditionText(): (webhook: Webhook) => string {
  const t = useTexts().webhooks;
  const formats = useFormats();
  return (webhook) => {
    const condition = conditionOf(webhook);
    const { attempt, behind, nextAttemptAt } = webhook;
    if (condition === 'behind') return t.explained.behind({ count: behind });
    if (condition !== 'failing') return t.explained[condition];
    const failed = t.explained.failing({ count: attempt });
    if (nextAttemptAt === null) return failed;
    const when = formats.relative(nextAttemptAt, serviceNow());
    return `${failed} ${t.explained.nextAttempt({ when })}`;
  };
}

/** The name of a webhook, else its host. */
export function webhookName({ name, url }: Webhook): string {
  return name ?? (URL.canParse(url) ? new URL(url).host : url);
}
