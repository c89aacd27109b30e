import { type ComponentProps, type ReactNode, useId } from 'react';

interface Option<Value extends string> {
  value: Value;
  text: string;
  disabled?: boolean;
}

export interface SelectProps<Value extends string>
  extends Omit<ComponentProps<'select'>, 'value' | 'onChange'> {
  value: Value | '';
  options: readonly Option<Value>[];
  choose: (value: Value) => void;
}

/** The browser's own choice of one value. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { options, choose, children, ...select } = props;
  return (
    <select
      {...select}
      onChange={({ target }) => {
        const chosen = options.find(({ value }) => value === target.value);
        if (chosen) choose(chosen.value);
      }}
    >
      {children}
      {options.map(({ value, text, disabled }) => (
        <option key={value} value={value} disabled={disabled}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface CheckboxProps extends Omit<ComponentProps<'input'>, 'onChange'> {
  checked: boolean;
  change: (checked: boolean) => void;
}

/** A box with its text beside it; `className` is for both. */
export function Checkbox({ change, className = '', children, ...box }: CheckboxProps) {
  return (
    <label className={`flex items-center gap-2 ${className}`}>
      <input
        type="checkbox"
        className="size-4 accent-accent"
        onChange={({ target }) => change(target.checked)}
        {...box}
      />
      {children}
    </label>
  );
}

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

interface FieldProps {
  label: string;
  hint?: string | undefined;
  problem?: string | undefined;
  value: string;
  change: (value: string) => void;
}

type TextFieldProps = FieldProps & Omit<ComponentProps<'input'>, keyof FieldProps>;

/** One line of text. */
export function TextField(props: TextFieldProps) {
  const { label, hint, problem, change, className = '', ...input } = props;
  return (
    <FormField label={label} hint={hint} problem={problem}>
      {(ties) => (
        <input
          {...ties}
          {...input}
          className={`field ${className}`}
          onChange={({ target }) => change(target.value)}
        />
      )}
    </FormField>
  );
}

type SelectFieldProps<Value extends string> = Omit<FieldProps, 'value' | 'change'> &
  SelectProps<Value>;

/** One of some values. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, hint, problem, ...select } = props;
  return (
    <FormField label={label} hint={hint} problem={problem}>
      {(ties) => <Select {...ties} {...select} className="field" />}
    </FormField>
  );
}

interface CheckListProps<Value extends string> {
  label: string;
  options: readonly Option<Value>[];
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
          <Checkbox
            key={value}
            className="py-0.5"
            checked={chosen.includes(value)}
            change={(on) => toggle(value, on)}
          >
            <bdi className="wrap-anywhere">{text}</bdi>
          </Checkbox>
        ))}
      </div>
      {below}
    </fieldset>
  );
}
