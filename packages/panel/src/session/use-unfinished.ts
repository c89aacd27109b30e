import { useQueryClient } from '@tanstack/react-query';
import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from 'react';
import { isSignedOut } from '../api.ts';
import { leave, leftFor, takeLeft } from './between-sessions.ts';
import { useSession } from './session-context.tsx';

/**
 * State of a form or dialog. If the session ends while it is shown, it has its value again after
 * the next sign-in. `stored` leaves out what must not be stored, such as secrets.
 */
export function useUnfinished<Value>(
  name: string,
  first: () => Value,
  stored: (value: Value) => Value = (value) => value,
): [Value, Dispatch<SetStateAction<Value>>] {
  const session = useSession();
  const queries = useQueryClient();
  const [value, setValue] = useState(() => {
    const left = leftFor(name, session, Date.now()) as Value | undefined;
    return left ?? first();
  });
  // Not before: React may render more than once until the form is shown.
  useEffect(() => void takeLeft(name, session, Date.now()), [name, session]);
  const leaveIt = useRef(() => {});
  useEffect(() => {
    leaveIt.current = () => leave(name, stored(value), session, Date.now());
  });
  useEffect(
    () => () => {
      if (isSignedOut(queries.getQueryState(['session'])?.error)) leaveIt.current();
    },
    [queries],
  );
  return [value, setValue];
}
