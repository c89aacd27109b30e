import { ChevronDown } from 'lucide-react';

interface QuietSelectProps<Value extends string> {
  label: string;
  /** Undefined: none of the options, and the label is shown. */
  value?: Value | undefined;
  options: readonly { value: Value; text: string }[];
  choose: (value: Value) => void;
}

/** A choice of the browser's own that looks like a quiet button. */
export function QuietSelect<Value extends string>(props: QuietSelectProps<Value>) {
  const { label, value, options, choose } = props;
  return (
    <span className="no-print relative inline-flex">
      <select
        aria-label={label}
        className="btn btn-quiet appearance-none pr-7 [field-sizing:content] [&>option]:bg-raised"
        value={value ?? ''}
        onChange={({ target }) => {
          const chosen = options.find((option) => option.value === target.value);
          if (chosen) choose(chosen.value);
        }}
      >
        {value === undefined && <option value="">{label}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-2 right-2 size-4 text-faint"
      />
    </span>
  );
}
