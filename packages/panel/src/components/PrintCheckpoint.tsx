import { useTexts } from '../i18n/texts.tsx';
import { useCheckpoint } from '../state/use-checkpoint.ts';
import { useFormats } from '../state/use-formats.ts';

/** Which state of the log a printed page belongs to. */
export default function PrintCheckpoint() {
  const t = useTexts();
  const formats = useFormats();
  const { data } = useCheckpoint();
  if (!data?.checkpoint) return null;
  const size = formats.number(data.checkpoint.size);
  return <p className="mt-1 font-mono break-all">{t.print.checkpoint(size, data.rootHex)}</p>;
}
