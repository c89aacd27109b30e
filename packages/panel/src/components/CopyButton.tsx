import { Check, Copy } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useTexts } from '../i18n/texts.tsx';

interface CopyButtonProps {
  /** The text to copy; a function if it changes over time. */
  text: string | (() => string);
  /** Its accessible name, if it has no visible one. */
  label?: string;
  className?: string;
  children?: ReactNode;
}

/** Copies a text and confirms it, visibly and to screen readers. */
export function CopyButton({ text, label, className, children }: CopyButtonProps) {
  const t = useTexts();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    // A browser may refuse to copy: the button then shows no success.
    const writing = navigator.clipboard?.writeText(typeof text === 'string' ? text : text());
    writing?.then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <button
      type="button"
      className={className ?? 'no-print btn btn-quiet h-7 w-7 px-0 [&>svg]:size-3.5'}
      aria-label={label}
      title={label}
      onClick={copy}
    >
      {copied ? <Check aria-hidden className="text-add" /> : <Copy aria-hidden />}
      {children}
      <span role="status" className="sr-only">
        {copied ? t.events.copied : ''}
      </span>
    </button>
  );
}
