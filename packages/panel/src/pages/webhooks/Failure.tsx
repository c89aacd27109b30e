import { failureText } from '../../../../../locales/failure-text.ts';
import { useTexts } from '../../i18n/texts.tsx';

interface FailureProps {
  /** The status of the answer; null without one. */
  status: number | null;
  /** In the words of the service; null if the call did not fail. */
  reason: string | null;
}

/** Why a call failed. What only the receiver can say stays in its own words. */
export function Failure({ status, reason }: FailureProps) {
  const w = useTexts().webhooks;
  if (reason === null) return null;
  const { text, words } = failureText(w.failures, status, reason);
  return (
    <span className="wrap-anywhere">
      {text}
      {words && (
        <span lang="en" dir="auto" className="block">
          {words}
        </span>
      )}
    </span>
  );
}
