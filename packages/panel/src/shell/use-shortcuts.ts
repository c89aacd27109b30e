import { useEffect } from 'react';

/**
 * Runs the action of a key: `/`, `?`, `j`, `Escape`, `mod+k` for Ctrl or Cmd, or `g e` for two keys
 * in a row. Keys without Ctrl or Cmd have no effect while text is edited or a dialog is open.
 */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    let previous = '';
    const press = (event: KeyboardEvent) => {
      const mod = event.metaKey || event.ctrlKey;
      const name = mod ? `mod+${event.key.toLowerCase()}` : event.key;
      const names = [`${previous} ${name}`, name];
      const bound = names.find((each) => Object.hasOwn(shortcuts, each));
      previous = name;
      const run = bound === undefined ? undefined : shortcuts[bound];
      if (run === undefined || event.altKey || event.defaultPrevented) return;
      if (!mod && isBusy(event.target)) return;
      event.preventDefault();
      run();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [shortcuts]);
}

function isBusy(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  const edited = target.closest('input, textarea, select, [contenteditable], [role="spinbutton"]');
  return edited !== null || document.querySelector('[role="dialog"], [role="menu"]') !== null;
}
