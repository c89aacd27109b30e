import type { LucideIcon } from 'lucide-react';
import type { ComponentProps } from 'react';

interface ButtonProps extends ComponentProps<'button'> {
  Icon?: LucideIcon;
  look?: 'primary' | 'danger' | 'quiet';
}

/**
 * A button with an optional icon; it submits a form only with `type="submit"`. A disabled one keeps
 * the keyboard focus: many are disabled only until the service has answered.
 */
export function Button(props: ButtonProps) {
  const { Icon, look, className = '', disabled = false, onClick, children, ...rest } = props;
  return (
    <button
      type="button"
      className={`btn ${look === undefined ? '' : `btn-${look}`} ${className}`}
      aria-disabled={disabled || undefined}
      onClick={disabled ? (event) => event.preventDefault() : onClick}
      {...rest}
    >
      {Icon && <Icon aria-hidden />}
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonProps {
  /** What it does, for screen readers and as a tooltip. */
  label: string;
}

export function IconButton({ label, className = '', ...rest }: IconButtonProps) {
  return (
    <Button
      look="quiet"
      className={`icon-btn ${className}`}
      aria-label={label}
      title={label}
      {...rest}
    />
  );
}
