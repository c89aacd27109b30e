import type { EventCriteria } from '@indelible/client';
import { Download } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { api, type ExportFormat } from '../api.ts';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { useGo } from '../use-location.ts';
import { errorText } from './States.tsx';

interface DownloadButtonProps {
  filters: EventCriteria;
  format?: ExportFormat;
  /** How the file is called, without its ending. */
  name: string;
  className?: string;
  done?: () => void;
  children: ReactNode;
}

/** Fetches what matches as a file; too many rows become a job on the page of exports. */
export function DownloadButton(props: DownloadButtonProps) {
  const { filters, format = 'csv', name, className = 'btn', done, children } = props;
  const t = useTexts();
  const go = useGo();
  const [state, setState] = useState<'idle' | 'busy' | { error: string }>('idle');
  const download = () => {
    setState('busy');
    api.exports.now(filters, format).then(
      (result) => {
        setState('idle');
        if ('job' in result) go(paths.exports());
        else saveFile(result.file, `${name}.${format}`);
        done?.();
      },
      (error: unknown) => setState({ error: errorText(error, t) }),
    );
  };
  return (
    <>
      <button type="button" className={className} disabled={state === 'busy'} onClick={download}>
        <Download aria-hidden />
        {children}
      </button>
      {typeof state === 'object' && (
        <p role="alert" className="self-center text-xs text-del">
          {state.error}
        </p>
      )}
    </>
  );
}

function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
