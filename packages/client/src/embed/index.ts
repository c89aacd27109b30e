import {
  type Appearance,
  type HostMessage,
  isPanelPath,
  type PanelMessage,
  panelHome,
} from '@indelible/protocol';

export type { Appearance, FontName } from '@indelible/protocol';

/** A short-lived JWT of the signed-in person; for an operator with the tenant. */
export type PanelToken = string | { jwt: string; tenantId: string };

export interface EmbedOptions {
  /** The service's address, such as `https://audit.example.com`. */
  url: string;
  /** Called whenever the panel needs a session. */
  token: () => Promise<PanelToken>;
  /** The page that opens first, as `onLocation` named it; any other text opens the events. */
  path?: string | null | undefined;
  appearance?: Appearance | undefined;
  /** The page that the panel shows now, with its search, which can hold e-mail addresses. */
  onLocation?: ((path: string) => void) | undefined;
  /** The height of the panel in pixels, to make the frame as high. */
  onHeight?: ((height: number) => void) | undefined;
  /** Why the panel does not apply the appearance. */
  onRefused?: ((problem: string) => void) | undefined;
}

export interface EmbeddedPanel {
  /** Opens a page of the panel. */
  go(path: string): void;
  wear(appearance: Appearance): void;
  /** Listens to the frame no longer. */
  close(): void;
}

/** Loads the panel into a frame, signs the reader in, and talks to this frame alone. */
export function embedPanel(frame: HTMLIFrameElement, options: EmbedOptions): EmbeddedPanel {
  const { origin } = new URL(options.url);
  const tell = (message: HostMessage) => frame.contentWindow?.postMessage(message, origin);
  let appearance = options.appearance;
  const dress = () => {
    if (appearance) tell({ type: 'indelible:appearance', appearance });
  };
  const signIn = async () => {
    const token = await options.token();
    const whole = typeof token === 'string' ? { jwt: token } : token;
    tell({ type: 'indelible:token', ...whole });
  };
  const hear = ({ origin: sender, source, data }: MessageEvent<PanelMessage>) => {
    if (sender !== origin || source !== frame.contentWindow) return;
    if (data.type === 'indelible:loaded') dress();
    else if (data.type === 'indelible:ready') void signIn();
    else if (data.type === 'indelible:location') options.onLocation?.(data.path);
    else if (data.type === 'indelible:height') options.onHeight?.(data.height);
    else if (data.type === 'indelible:refused') options.onRefused?.(data.problem);
  };
  // Before the frame loads: its first message must not be missed.
  addEventListener('message', hear);
  const { path } = options;
  frame.src = origin + (path && isPanelPath(path) ? path : panelHome);
  return {
    go: (next) => tell({ type: 'indelible:go', path: next }),
    wear: (next) => {
      appearance = next;
      dress();
    },
    close: () => removeEventListener('message', hear),
  };
}
