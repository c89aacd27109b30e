/** The heads of a table's columns. */
export function HeadRow({ columns }: { columns: readonly { label: string; className: string }[] }) {
  return (
    <thead>
      <tr>
        {columns.map(({ label, className }) => (
          <th key={label} scope="col" className={className}>
            {label}
          </th>
        ))}
      </tr>
    </thead>
  );
}
