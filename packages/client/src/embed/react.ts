import { createElement, type ReactElement, useEffect, useRef, useState } from 'react';
import { type EmbeddedPanel, type EmbedOptions, embedPanel } from './index.ts';

export interface AuditPanelProps extends Omit<EmbedOptions, 'onHeight'> {
  /** The name of the frame for screen readers. */
  title: string;
  className?: string;
  /** Makes the frame as high as the panel, so that the page scrolls and not the frame. */
  autoHeight?: boolean;
}

/**
 * The panel in a frame. A change of `path` or `appearance` reaches the panel without a reload; a
 * change of `url` loads another one.
 */
export function AuditPanel(props: AuditPanelProps): ReactElement {
  const { url, path, appearance, title, className, autoHeight = false } = props;
  const frame = useRef<HTMLIFrameElement>(null);
  const panel = useRef<EmbeddedPanel>(null);
  const shown = useRef(path);
  const latest = useRef(props);
  const [height, setHeight] = useState<number | null>(null);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => {
    if (frame.current === null) return;
    panel.current = embedPanel(frame.current, {
      ...latest.current,
      url,
      token: () => latest.current.token(),
      onLocation: (next) => {
        shown.current = next;
        latest.current.onLocation?.(next);
      },
      onHeight: setHeight,
      onRefused: (problem) => latest.current.onRefused?.(problem),
    });
    return () => panel.current?.close();
  }, [url]);
  useEffect(() => {
    if (path && path !== shown.current) panel.current?.go(path);
  }, [path]);
  const look = JSON.stringify(appearance ?? {});
  useEffect(() => panel.current?.wear(JSON.parse(look)), [look]);
  return createElement('iframe', {
    ref: frame,
    title,
    className,
    allow: 'clipboard-write',
    ...(autoHeight && height !== null && { style: { height } }),
  });
}
