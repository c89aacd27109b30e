import { type HostMessage, type PanelMessage, readHostMessage } from '@indelible/protocol';
import { api } from '../api.ts';

/**
 * Messages between the panel in a frame and the page around it: only to and from this origin and
 * the origins in the service's FRAME_ANCESTORS.
 */

export function isEmbedded(): boolean {
  return window.parent !== window;
}

let asked: Promise<readonly string[]> | null = null;

/** The origins that may embed the panel; none while the service does not tell. */
function allowedHosts(): Promise<readonly string[]> {
  asked ??= api.config().then(
    ({ frameAncestors }) => frameAncestors,
    () => {
      asked = null;
      return [];
    },
  );
  return asked;
}

/** Listens to the host; resolves when it does. Calls `stop.abort()` end it. */
export async function hearHost(
  receive: (message: HostMessage) => void,
  stop: AbortSignal,
): Promise<void> {
  const hosts = await allowedHosts();
  const hear = ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || !hosts.includes(origin)) return;
    const message = readHostMessage(data);
    if (message !== null) receive(message);
  };
  if (isEmbedded() && !stop.aborted) window.addEventListener('message', hear, { signal: stop });
}

/** The embedding origin if the browser shows it, else all allowed ones, gets the message. */
export async function tellHost(message: PanelMessage): Promise<void> {
  if (!isEmbedded()) return;
  const parent = window.location.ancestorOrigins?.[0];
  for (const host of await allowedHosts()) {
    if (parent === undefined || parent === host) window.parent.postMessage(message, host);
  }
}
