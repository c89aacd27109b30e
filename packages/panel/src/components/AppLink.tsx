import type { AnchorHTMLAttributes, MouseEvent, ReactNode, Ref } from 'react';
import { useGo } from '../use-location.ts';

interface AppLinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  href: string;
  children: ReactNode;
  ref?: Ref<HTMLAnchorElement>;
}

/** A link within the panel: a real one, so that it can be copied and opened in a new tab. */
export function AppLink({ href, onClick, ...rest }: AppLinkProps) {
  const go = useGo();
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || event.button !== 0 || elsewhere) return;
    event.preventDefault();
    go(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
