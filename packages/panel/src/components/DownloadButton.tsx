import type { EventCriteria } from '@indelible/client';
import type { ReactNode } from 'react';
import { api, type ExportFormat } from '../api.ts';
import { paths } from '../paths.ts';
import { useGo } from '../use-location.ts';
import { FileButton } from './FileButton.tsx';

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
  const { filters, format = 'csv', name, ...rest } = props;
  const go = useGo();
  const load = async () => {
    const result = await api.exports.now(filters, format);
    if ('file' in result) return { file: result.file, name: `${name}.${format}` };
    go(paths.exports());
    return null;
  };
  return <FileButton load={load} {...rest} />;
}
