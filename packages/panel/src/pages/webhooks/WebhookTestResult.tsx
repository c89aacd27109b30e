import type { WebhookFormat, WebhookTest } from '@indelible/client';
import { CircleCheck, CircleX } from 'lucide-react';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { formatFields } from './formats.ts';

interface TestResultProps {
  result: WebhookTest;
  format: WebhookFormat;
}

/** What came of a test: whether it worked, and what the receiver said. */
export function WebhookTestResult({ result, format }: TestResultProps) {
  const w = useTexts().webhooks;
  const formats = useFormats();
  const { ok, status, reason, response, durationMs } = result;
  // Of a log platform its health was asked, which some
  // answer with a status that looks like a refusal.
  const { isSigned } = formatFields[format];
  const works = isSigned ? w.test.ok(status === null ? '' : String(status)) : w.test.healthy;
  const Icon = ok ? CircleCheck : CircleX;
  return (
    <div
      role="status"
      className={`rounded-lg px-4 py-3 ${ok ? 'bg-add-soft text-add' : 'bg-del-soft text-del'}`}
    >
      <p className="flex flex-wrap items-center gap-x-2 font-semibold">
        <Icon aria-hidden className="size-5" />
        {ok ? works : w.test.failed}
        <span className="ml-auto text-xs font-normal tabular-nums">
          {status ?? w.test.noAnswer} · {formats.number(durationMs)} ms
        </span>
      </p>
      {reason !== null && (
        <p dir="auto" className="mt-1 pl-7 break-words">
          {reason}
        </p>
      )}
      {response !== null && response !== '' && (
        <div className="mt-2 pl-7 text-xs">
          <p className="font-medium">{w.test.answer}</p>
          <pre dir="auto" className="mt-0.5 font-mono break-all whitespace-pre-wrap">
            {response}
          </pre>
        </div>
      )}
    </div>
  );
}
