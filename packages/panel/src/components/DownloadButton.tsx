import type { EventCriteria } from '@indelible/client';
import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { ReactNode } from 'react';
import { api, type ExportFormat } from '../api.ts';
import { useTexts } from '../i18n/texts.tsx';
import { useFormats } from '../i18n/use-formats.ts';
import { paths } from '../paths.ts';
import { useGo } from '../use-location.ts';
import { Button } from './Button.tsx';
import { ActionError } from './States.tsx';

interface DownloadButtonProps {
  filters: EventCriteria;
  format?: ExportFormat;
  /** The file's name without its extension. */
  name: string;
  look?: 'primary';
  done?: () => void;
  children: ReactNode;
}

/** Downloads the matching events; too many become a job on the exports page. */
export function DownloadButton(props: DownloadButtonProps) {
  const { filters, format = 'csv', name, done, children, ...rest } = props;
  const go = useGo();
  const t = useTexts();
  const formats = useFormats();
  const download = useMutation({
    mutationFn: () => api.exports.now(filters, format),
    onSuccess: (result) => {
      if ('job' in result) go(paths.exports());
      else saveFile(result.file, `${name}.${format}`);
      done?.();
    },
  });
  return (
    <>
      <Button
        Icon={Download}
        disabled={download.isPending}
        onClick={() => download.mutate()}
        {...rest}
      >
        {children}
      </Button>
      <ActionError error={download.error} className="self-center text-xs" />
      {download.data && 'file' in download.data && (
        <p role="status" className="self-center text-xs text-muted">
          {t.exports.downloaded({
            name: `${name}.${format}`,
            size: formats.bytes(download.data.file.size),
          })}
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
