import type { Page } from 'playwright-core';
import { en, type Texts } from '../packages/panel/src/i18n/en.ts';

/** Matches whatever a text of the dictionary becomes, and nothing else. */
type Pattern = RegExp;

/** Every text of a dictionary as patterns; what a text is about may be anything. */
export function patternsOf(texts: Texts): Map<string, Pattern[]> {
  const found = new Map<string, Pattern[]>();
  const walk = (value: unknown, path: string) => {
    if (typeof value === 'string') found.set(path, [patternOf(value)]);
    else if (typeof value === 'function') {
      // As for one and as for many: words differ by number. A text about a text takes no number.
      const about = (first: unknown) => patternOf(String(value(first, '¤')));
      found.set(path, [
        about('¤'),
        ...(isAboutNumbers(value as (n: number) => string) ? [about(1)] : []),
      ]);
    } else {
      for (const [name, inner] of Object.entries(value as object)) walk(inner, `${path}.${name}`);
    }
  };
  walk(texts, '');
  return found;
}

function isAboutNumbers(text: (n: number) => string): boolean {
  try {
    return text(1) !== '';
  } catch {
    return false;
  }
}

function patternOf(text: string): Pattern {
  const literal = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll('¤', '.+')}$`, 'i');
}

/** Which of `shown` are English although `spoken` says them in its own words. */
export function untranslated(shown: readonly string[], spoken: Texts): string[] {
  const own = [...patternsOf(spoken).values()].flat();
  const english = [...patternsOf(en).values()]
    .flat()
    .filter(({ source }) => /[a-z]{3}/i.test(source));
  const fits = (patterns: readonly Pattern[], text: string) =>
    patterns.some((each) => each.test(text));
  return shown.filter((text) => fits(english, text) && !fits(own, text));
}

/** Every text of the page, seen or only heard. */
export function textsOf(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const texts = new Set();
    const add = (text) => text?.trim() && texts.add(text.trim().replace(/\\s+/g, ' '));
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) add(walker.currentNode.data);
    for (const element of document.querySelectorAll('body *')) {
      for (const name of ['aria-label', 'title', 'placeholder', 'alt']) add(element.getAttribute(name));
    }
    return [...texts];
  })()`);
}
