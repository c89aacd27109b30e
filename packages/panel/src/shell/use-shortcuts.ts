import { useEffect } from 'react';

/**
 * Runs what a key stands for: `/`, `?`, `j`, `Escape`, or `mod+k` for Ctrl or Cmd. Letters are left
 * alone while text is edited or a dialog is open.
 */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const mod = event.metaKey || event.ctrlKey;
      const name = mod ? `mod+${event.key.toLowerCase()}` : event.key;
      const run = Object.hasOwn(shortcuts, name) ? shortcuts[name] : undefined;
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
