import { ChevronDown } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';

interface OlderButtonProps {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

/** Adds the next page below a list that has one, so that no list ends where its first page does. */
export function OlderButton({ list }: OlderButtonProps) {
  const t = useTexts();
  if (!list.hasNextPage) return null;
  return (
    <div className="no-print mt-3 flex justify-end">
      <button
        type="button"
        className="btn"
        disabled={list.isFetchingNextPage}
        onClick={() => void list.fetchNextPage()}
      >
        {t.buttons.older}
        <ChevronDown aria-hidden />
      </button>
    </div>
  );
}
