import { type ReactNode, useId } from 'react';

interface FormFieldProps {
  label: string;
  hint?: string | undefined;
  /** Why the input is invalid. */
  problem?: string | undefined;
  /** Gets the attributes that tie the control to its label, hint and problem. */
  children: (ties: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean | undefined;
  }) => ReactNode;
}

/** A control with its label above, and its hint or problem below. */
export function FormField({ label, hint, problem, children }: FormFieldProps) {
  const id = useId();
  const below = problem ?? hint;
  return (
    <div className="min-w-0">
      <label className="label mb-1.5 block" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': below === undefined ? undefined : `${id}-below`,
        'aria-invalid': problem === undefined ? undefined : true,
      })}
      {below !== undefined && (
        <p
          id={`${id}-below`}
          className={`mt-1 text-xs text-pretty ${problem === undefined ? 'text-faint' : 'text-del'}`}
        >
          {below}
        </p>
      )}
    </div>
  );
}
