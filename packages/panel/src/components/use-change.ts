import { useMutation, useQueryClient } from '@tanstack/react-query';

/** A change; when it has ended, the queries under these keys are read again. */
export function useChange<Input, Answer>(
  keys: readonly string[],
  change: (input: Input) => Promise<Answer>,
) {
  const queries = useQueryClient();
  const readAgain = () =>
    Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })));
  return useMutation({
    mutationFn: change,
    onSuccess: readAgain,
    // Not waited for: the reader sees at once why a change was refused.
    onError: () => void readAgain(),
  });
}
