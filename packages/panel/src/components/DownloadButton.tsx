import type { ExportInput } from '@indelible/client';
import type { ReactNode } from 'react';
import { api } from '../api.ts';
import { paths } from '../paths.ts';
import { useGo } from '../use-location.ts';
import { FileButton } from './FileButton.tsx';

interface DownloadButtonProps {
  input: ExportInput;
  /** The file's name without its extension. */
  name: string;
  look?: 'primary';
  done?: () => void;
  children: ReactNode;
}

/** Downloads the matching events; too many become a job on the exports page. */
export function DownloadButton(props: DownloadButtonProps) {
  const { input, name, ...rest } = props;
  const go = useGo();
  const load = async () => {
    const result = await api.exports.now(input);
    if ('file' in result) return { file: result.file, name: `${name}.${input.format}` };
    go(paths.exports());
    return null;
  };
  return <FileButton load={load} {...rest} />;
}
