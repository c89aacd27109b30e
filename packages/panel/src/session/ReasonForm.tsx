import { reasonLengthMax } from '@indelible/protocol';
import { useMutation } from '@tanstack/react-query';
import { ShieldAlert } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { Button } from '../components/Button.tsx';
import { ActionError } from '../components/States.tsx';
import { useTexts } from '../i18n/texts.tsx';

/** Asks an operator for a reason, which the tenant's log records. */
export function ReasonForm({ submit }: { submit: (reason: string) => Promise<unknown> }) {
  const t = useTexts();
  const [reason, setReason] = useState('');
  const enter = useMutation({ mutationFn: () => submit(reason.trim()) });
  const send = (event: FormEvent) => {
    event.preventDefault();
    enter.mutate();
  };
  return (
    <form onSubmit={send} className="card w-full max-w-lg p-6">
      <ShieldAlert className="mb-3 size-6 text-warn" aria-hidden />
      <h1 className="text-lg font-semibold text-balance">{t.operator.formTitle}</h1>
      <p className="mt-2 text-muted text-pretty">{t.operator.formText}</p>
      <label className="label mt-5 mb-1.5 block" htmlFor="reason">
        {t.operator.formLabel}
      </label>
      <textarea
        id="reason"
        className="field h-24 py-2"
        required
        maxLength={reasonLengthMax}
        value={reason}
        aria-describedby="reason-hint"
        onChange={(event) => setReason(event.target.value)}
      />
      <p id="reason-hint" className="mt-1 text-xs text-faint">
        {t.operator.formHint}
      </p>
      <ActionError error={enter.error} />
      <Button
        look="primary"
        className="mt-5 w-full"
        type="submit"
        disabled={reason.trim() === '' || enter.isPending || enter.isSuccess}
      >
        {t.operator.enter}
      </Button>
    </form>
  );
}
