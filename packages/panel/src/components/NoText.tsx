import type { StateLeaf } from '@indelible/protocol';
import { useTexts } from '../i18n/texts.tsx';

/** Whether the value has no text of its own, so that `NoText` tells it from the texts. */
export const isNoText = (value: StateLeaf): value is null | '' | undefined =>
  value == null || value === '';

/** `null`, the empty text, or (undefined) that there is no value: three different things. */
export function NoText({ value }: { value: null | '' | undefined }) {
  const t = useTexts();
  const words = value === '' ? t.events.empty : t.versions.absent;
  return <i className="text-faint">{value === null ? 'null' : words}</i>;
}
