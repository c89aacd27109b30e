import { useMutation, useQueryClient } from '@tanstack/react-query';

/** A change; when it has ended, the queries under these keys are read again. */
export function useChange<Input, Answer>(
  keys: readonly string[],
  change: (input: Input) => Promise<Answer>,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: () => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  });
}
