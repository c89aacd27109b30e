import { Sheet } from '../components/Sheet.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { navigationFor } from '../pages/registry.ts';
import { useSession } from '../session/session-context.tsx';

export default function ShortcutHelp({ close }: { close: () => void }) {
  const t = useTexts();
  const session = useSession();
  const keys: (readonly [names: readonly string[], text: string])[] = [
    [['/', 'Ctrl K', '⌘ K'], t.nav.commands],
    [['j'], t.help.next],
    [['k'], t.help.previous],
    [['Enter'], t.help.open],
    [['Esc'], t.buttons.close],
    [['Ctrl P', '⌘ P'], t.print.print],
    [['?'], t.help.help],
    ...navigationFor(session).map(
      ({ key, title }) => [[`G ${key.toUpperCase()}`], title(t)] as const,
    ),
  ];
  return (
    <Sheet title={t.nav.help} close={close} width="max-w-sm">
      <dl className="divide-y divide-line">
        {keys.map(([names, text]) => (
          <div key={text} className="flex items-center justify-between py-2">
            <dt>{text}</dt>
            <dd className="flex gap-1">
              {names.map((name) => (
                <kbd key={name} className="kbd">
                  {name}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-xs text-faint">{t.help.note}</p>
    </Sheet>
  );
}
