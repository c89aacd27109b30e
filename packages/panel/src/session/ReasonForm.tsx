import { ShieldAlert } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { errorText } from '../components/States.tsx';
import { useTexts } from '../i18n/texts.tsx';

/** Asks an operator why they are here; what they answer is recorded where the tenant reads it. */
export function ReasonForm({ submit }: { submit: (reason: string) => Promise<unknown> }) {
  const t = useTexts();
  const [reason, setReason] = useState('');
  const [state, setState] = useState<'idle' | 'busy' | string>('idle');
  const send = (event: FormEvent) => {
    event.preventDefault();
    setState('busy');
    submit(reason.trim()).catch((error: unknown) => setState(errorText(error, t)));
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
        maxLength={1000}
        value={reason}
        aria-describedby="reason-hint"
        onChange={(event) => setReason(event.target.value)}
      />
      <p id="reason-hint" className="mt-1 text-xs text-faint">
        {t.operator.formHint}
      </p>
      {state !== 'idle' && state !== 'busy' && (
        <p role="alert" className="mt-3 text-del">
          {state}
        </p>
      )}
      <button
        type="submit"
        className="btn btn-primary mt-5 w-full"
        disabled={reason.trim() === '' || state === 'busy'}
      >
        {t.operator.enter}
      </button>
    </form>
  );
}
