import { CircleAlert, CircleCheck, CircleX } from 'lucide-react';
import type { ReactNode } from 'react';

const looks = {
  good: { tone: 'bg-add-soft text-add', Icon: CircleCheck },
  warn: { tone: 'bg-warn-soft text-warn', Icon: CircleAlert },
  bad: { tone: 'bg-del-soft text-del', Icon: CircleX },
};

interface VerdictProps {
  look: keyof typeof looks;
  title: ReactNode;
  /** At the end of the title's line. */
  aside?: ReactNode;
  className?: string;
  children?: ReactNode;
}

/** The result of an action or check, announced to screen readers: a title and sentences. */
export function Verdict({ look, title, aside, className = '', children }: VerdictProps) {
  const { tone, Icon } = looks[look];
  return (
    <div role="status" className={`rounded-lg px-4 py-3 ${tone} ${className}`}>
      <p className="flex flex-wrap items-center gap-2 font-semibold">
        <Icon aria-hidden className="size-5 shrink-0" />
        {title}
        {aside && <span className="ml-auto text-xs font-normal tabular-nums">{aside}</span>}
      </p>
      {children && <div className="mt-1 space-y-1 pl-7 text-pretty">{children}</div>}
    </div>
  );
}
