import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { useFormats } from '../i18n/use-formats.ts';
import { Button } from './Button.tsx';
import { ActionError } from './States.tsx';

interface FileButtonProps {
  /** The file to save; null if there is none to save here. */
  load: () => Promise<{ file: Blob; name: string } | null>;
  look?: 'primary';
  done?: (() => void) | undefined;
  children: ReactNode;
}

/** Saves a file that the service makes, and says what was saved. */
export function FileButton({ load, done, children, ...rest }: FileButtonProps) {
  const t = useTexts();
  const formats = useFormats();
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
        disabled={download.isPending}
        onClick={() => download.mutate()}
        {...rest}
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
