import { type Appearance, type FontName, isPanelPath, readAppearance } from '@indelible/protocol';
import { preferInHost } from '../preferences.ts';
import type { createPanelRouter } from '../routes.tsx';
import { hearHost, tellHost } from './host.ts';

/**
 * The panel as a part of the host's page: it takes the host's appearance, opens what the host
 * names, and tells its place and height, so that the host can keep the one and fit the frame.
 */
export async function joinHost(
  router: ReturnType<typeof createPanelRouter>,
  element: HTMLElement,
): Promise<void> {
  await hearHost((message) => {
    if (message.type === 'indelible:appearance') takeAppearance(message.appearance);
    const leads = message.type === 'indelible:go' && isPanelPath(message.path);
    if (leads) router.history.push(message.path);
  }, new AbortController().signal);
  const tellPlace = () => {
    const { pathname, search } = router.history.location;
    const path = pathname + search;
    if (isPanelPath(path)) void tellHost({ type: 'indelible:location', path });
  };
  router.history.subscribe(tellPlace);
  const tellHeight = () => {
    const height = Math.ceil(element.getBoundingClientRect().height);
    void tellHost({ type: 'indelible:height', height });
  };
  new ResizeObserver(tellHeight).observe(element);
  await tellHost({ type: 'indelible:loaded' });
  tellPlace();
}

function takeAppearance(sent: unknown): void {
  const read = readAppearance(sent);
  if ('problem' in read) void tellHost({ type: 'indelible:refused', problem: read.problem });
  else wear(read.appearance);
}

const fonts: Readonly<Record<FontName, string>> = {
  system: 'system-ui, sans-serif',
  arial: 'Arial, Helvetica, sans-serif',
  georgia: 'Georgia, serif',
  inter: 'Inter, system-ui, sans-serif',
  roboto: 'Roboto, system-ui, sans-serif',
  verdana: 'Verdana, sans-serif',
};

/** Sets what styles.css and its themes read. */
function wear({ chrome, theme, accent, radius, font, locale }: Appearance): void {
  const { style, dataset } = document.documentElement;
  if (chrome !== undefined) dataset.chrome = chrome;
  if (accent !== undefined) {
    style.setProperty('--color-accent', `light-dark(${accent.light}, ${accent.dark})`);
    const tint = 'color-mix(in oklab, var(--color-accent) 10%, var(--color-surface))';
    style.setProperty('--color-accent-soft', tint);
    style.setProperty('--color-accent-bar', 'var(--color-accent)');
  }
  if (radius !== undefined) {
    for (const [name, share] of Object.entries({ md: 0.75, lg: 1, xl: 1.5 })) {
      style.setProperty(`--radius-${name}`, `${radius * share}px`);
    }
  }
  if (font !== undefined) style.setProperty('--font-sans', fonts[font]);
  preferInHost({
    ...(chrome && { chrome }),
    ...(theme && { theme }),
    ...(locale && { language: locale }),
  });
}
