import type { ComponentProps, ReactNode } from 'react';
import { FormField } from './FormField.tsx';

interface FieldProps {
  label: string;
  hint?: string | undefined;
  problem?: string | undefined;
  value: string;
  change: (value: string) => void;
}

type TextFieldProps = FieldProps & Omit<ComponentProps<'input'>, keyof FieldProps>;

/** One line of text. */
export function TextField({ label, hint, problem, change, ...input }: TextFieldProps) {
  return (
    <FormField {...{ label, hint, problem }}>
      {(ties) => (
        <input
          {...ties}
          {...input}
          className="field"
          onChange={({ target }) => change(target.value)}
        />
      )}
    </FormField>
  );
}

type SelectFieldProps = FieldProps & { options: readonly { value: string; text: string }[] };

/** One of some values. */
export function SelectField({ label, hint, problem, value, change, options }: SelectFieldProps) {
  return (
    <FormField {...{ label, hint, problem }}>
      {(ties) => (
        <select
          {...ties}
          className="field"
          value={value}
          onChange={({ target }) => change(target.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

interface CheckListProps<Value extends string> {
  label: string;
  options: readonly { value: Value; text: string }[];
  chosen: readonly Value[];
  change: (chosen: Value[]) => void;
  below?: ReactNode;
}

/** Any of some values, in their order. */
export function CheckList<Value extends string>(props: CheckListProps<Value>) {
  const { label, options, chosen, change, below } = props;
  const toggle = (changed: Value, on: boolean) => {
    const values = options.map(({ value }) => value);
    change(values.filter((value) => (value === changed ? on : chosen.includes(value))));
  };
  return (
    <fieldset>
      <legend className="label mb-1.5">{label}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-1">
        {options.map(({ value, text }) => (
          <label key={value} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={chosen.includes(value)}
              onChange={({ target }) => toggle(value, target.checked)}
            />
            <bdi className="wrap-anywhere">{text}</bdi>
          </label>
        ))}
      </div>
      {below}
    </fieldset>
  );
}
