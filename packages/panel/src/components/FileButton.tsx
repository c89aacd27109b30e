import type { ExportInput } from '@indelible/client';
import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { ReactNode } from 'react';
import { api } from '../api.ts';
import { useReader } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { useGo } from '../use-location.ts';
import { Button } from './Button.tsx';
import { ActionError } from './States.tsx';

interface FileButtonProps {
  /** The file to save; null if there is none to save here. */
  load: () => Promise<{ file: Blob; name: string } | null>;
  look?: 'primary';
  disabled?: boolean;
  done?: (() => void) | undefined;
  children: ReactNode;
}

/** Saves a file that the service makes, and says what was saved. */
export function FileButton({ load, disabled = false, done, children, look }: FileButtonProps) {
  const { t, formats } = useReader();
  const download = useMutation({
    mutationFn: load,
    onSuccess: (saved) => {
      if (saved !== null) saveFile(saved.file, saved.name);
      done?.();
    },
  });
  const { data: saved } = download;
  return (
    <>
      <Button
        Icon={Download}
        disabled={disabled || download.isPending}
        onClick={() => download.mutate()}
        {...(look && { look })}
      >
        {children}
      </Button>
      <ActionError error={download.error} className="self-center text-xs" />
      {saved && (
        <p role="status" className="self-center text-xs text-muted">
          {t.exports.downloaded({ name: saved.name, size: formats.bytes(saved.file.size) })}
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

interface DownloadButtonProps extends Omit<FileButtonProps, 'load'> {
  input: ExportInput;
  /** The file's name without its extension. */
  name: string;
}

/** Downloads the matching events; too many become a job, to whose page it leads without `done`. */
export function DownloadButton(props: DownloadButtonProps) {
  const { input, name, ...rest } = props;
  const go = useGo();
  const load = async () => {
    const result = await api.exports.now(input);
    if ('file' in result) return { file: result.file, name: `${name}.${input.format}` };
    if (!rest.done) go(paths.exports());
    return null;
  };
  return <FileButton load={load} {...rest} />;
}
