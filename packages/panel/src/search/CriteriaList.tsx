/** Criteria as names and texts. */
export function CriteriaList({
  criteria,
}: {
  criteria: readonly { name: string; text: string }[];
}) {
  return (
    <dl className="mt-3 space-y-1 rounded-lg bg-sunken px-3 py-2.5">
      {criteria.map(({ name, text }) => (
        <div key={name} className="flex gap-2">
          <dt className="w-32 shrink-0 text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{text}</dd>
        </div>
      ))}
    </dl>
  );
}
