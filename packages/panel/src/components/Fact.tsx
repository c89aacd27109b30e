import { revealed } from '@indelible/protocol';
import type { ReactNode } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { CopyButton } from './CopyButton.tsx';

interface FactProps {
  name: string;
  /** A value that is no prose, such as a hash or an address. */
  code?: string | undefined;
  /** What a button beside it copies. */
  copy?: string | undefined;
  children?: ReactNode;
}

/** A row of a `dl`: a name and its value. */
export function Fact({ name, code, copy = code, children }: FactProps) {
  const t = useTexts();
  return (
    <div className="flex items-start gap-3 border-b border-line py-1 last:border-0">
      <dt className="w-32 shrink-0 py-0.5 text-faint">{name}</dt>
      <dd className="flex min-h-6 min-w-0 flex-1 items-center justify-between gap-1">
        <div className="min-w-0 wrap-anywhere">
          {code !== undefined && <bdi className="font-mono text-xs">{revealed(code)}</bdi>}
          {children}
        </div>
        {copy !== undefined && (
          <span className="no-print">
            <CopyButton text={copy} label={`${t.buttons.copy}: ${name}`} />
          </span>
        )}
      </dd>
    </div>
  );
}
