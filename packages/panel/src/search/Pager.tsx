import { ChevronLeft, ChevronRight } from 'lucide-react';
import { Button } from '../components/Button.tsx';
import { useTexts } from '../i18n/texts.tsx';
import type { Searching } from './event-search.ts';
import { pageSize } from './use-events.ts';

interface PagerProps extends Searching {
  pagination: {
    nextCursor: string | null;
    previousCursor: string | null;
    total?: { value: number; relation: 'eq' | 'gte' };
  };
  /** Whether `pagination` is still that of the former search, whose cursors this one refuses. */
  isFormer: boolean;
}

/** Newer and older pages. Paging fixes the range, because cursors are valid for one range only. */
export function Pager({ search, nowMs, pagination, isFormer, change }: PagerProps) {
  const t = useTexts();
  const { nextCursor, previousCursor, total } = pagination;
  const { range, page } = search;
  const fixed = range.kind === 'last' ? { ...range, at: nowMs } : range;
  const open = (cursor: string | null, to: number) =>
    cursor !== null && change({ ...search, range: fixed, cursor, page: Math.max(1, to) });
  const pages = total && Math.ceil(total.value / pageSize);
  return (
    <nav aria-label={t.events.list} className="no-print flex items-center gap-1">
      <span className="mr-2 text-xs text-faint tabular-nums">
        {pages === undefined || total?.relation === 'gte'
          ? t.events.page({ n: page })
          : t.events.pageOf({ n: page, of: Math.max(1, pages) })}
      </span>
      <Button
        Icon={ChevronLeft}
        disabled={isFormer || previousCursor === null}
        onClick={() => open(previousCursor, page - 1)}
      >
        {t.events.newer}
      </Button>
      <Button disabled={isFormer || nextCursor === null} onClick={() => open(nextCursor, page + 1)}>
        {t.buttons.older}
        <ChevronRight aria-hidden />
      </Button>
    </nav>
  );
}
