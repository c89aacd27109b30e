import { type UnknownValues, unknownPairs } from '@indelible/protocol';
import { Verdict } from '../../components/Verdict.tsx';
import { type Texts, useTexts } from '../../i18n/texts.tsx';
import { valueText } from '../../search/use-criteria-texts.ts';

/** Unknown values in the reader's words, each with its filter. */
export function unknownTexts(unknown: UnknownValues | null, t: Texts): string[] {
  return unknownPairs(unknown ?? {}).map(
    ([name, value]) => `${t.filters[name]}: ${valueText(name, value, t)}`,
  );
}

/** In red, and before all else: of which persons and resources the evidence shows nothing. */
export function UnknownVerdict({ texts }: { texts: readonly string[] }) {
  const t = useTexts();
  if (texts.length === 0) return null;
  return (
    <div className="max-w-3xl px-4 pt-6 lg:px-6 print:max-w-none">
      <Verdict look="bad" title={t.evidence.unknown}>
        <p>{t.evidence.unknownText}</p>
        <ValueList texts={texts} />
      </Verdict>
    </div>
  );
}

export function ValueList({ texts }: { texts: readonly string[] }) {
  return (
    <ul className="list-disc pl-5 font-medium wrap-anywhere">
      {texts.map((text) => (
        <li key={text} dir="auto">
          {text}
        </li>
      ))}
    </ul>
  );
}
