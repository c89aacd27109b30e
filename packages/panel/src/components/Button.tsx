import type { LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes } from 'react';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  Icon?: LucideIcon;
  look?: 'primary' | 'danger' | 'quiet';
}

/** A button with an optional icon; it submits a form only with `type="submit"`. */
export function Button({ Icon, look, className = '', children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={`btn ${look === undefined ? '' : `btn-${look}`} ${className}`}
      {...rest}
    >
      {Icon && <Icon aria-hidden />}
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonProps {
  Icon: LucideIcon;
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
