import { revealed, type StateLeaf } from '@indelible/protocol';
import { useTexts } from '../i18n/texts.tsx';

/** Whether the value has no visible text of its own, so that `NoText` tells it from the texts. */
export const isNoText = (value: StateLeaf): boolean => value == null || /^\s*$/.test(String(value));

/** `null`, the empty text, blanks, or (undefined) that there is no value: four different things. */
export function NoText({ value }: { value: StateLeaf }) {
  const t = useTexts();
  const text = value === undefined ? t.versions.absent : revealed(JSON.stringify(value));
  return <i className="whitespace-pre-wrap text-faint">{value === '' ? t.events.empty : text}</i>;
}
