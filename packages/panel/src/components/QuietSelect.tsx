import { ChevronDown } from 'lucide-react';
import { Select, type SelectProps } from './fields.tsx';

interface QuietSelectProps<Value extends string> extends Omit<SelectProps<Value>, 'value'> {
  label: string;
  /** Undefined: none of the options, and the label is shown. */
  value?: Value | undefined;
}

/** A choice of the browser's own that looks like a quiet button. */
export function QuietSelect<Value extends string>(props: QuietSelectProps<Value>) {
  const { label, value = '', ...select } = props;
  return (
    <span className="no-print relative inline-flex">
      <Select
        aria-label={label}
        className="btn btn-quiet appearance-none pr-7 [field-sizing:content] [&>option]:bg-raised"
        value={value}
        {...select}
      >
        {value === '' && <option value="">{label}</option>}
      </Select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-2 right-2 size-4 text-faint"
      />
    </span>
  );
}
