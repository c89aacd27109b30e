import type { Page } from 'playwright-core';

/** Matches whatever a text of the dictionary becomes, and nothing else. */
type Pattern = RegExp;

/** The texts of a dictionary as they are written, with placeholders. */
function leavesOf(texts: object): string[] {
  return Object.values(texts).flatMap((value) =>
    typeof value === 'object' ? leavesOf(value) : [value],
  );
}

/** The texts that are always the same. */
export function wordsOf(texts: object): Set<string> {
  return new Set(leavesOf(texts).filter((text) => !text.includes('{{')));
}

/** Every text of a dictionary; its values may be anything. */
function patternsOf(texts: object): Pattern[] {
  return leavesOf(texts).map(patternOf);
}

function patternOf(text: string): Pattern {
  const literal = text
    .split(/\{\{.*?\}\}/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.+')}$`);
}

/** Which of `shown` are among the `english` texts although `spoken` says them in its own words. */
export function untranslated(shown: readonly string[], english: object, spoken: object): string[] {
  const own = patternsOf(spoken);
  const foreign = patternsOf(english).filter(({ source }) => /[a-z]{3}/i.test(source));
  const fits = (patterns: readonly Pattern[], text: string) =>
    patterns.some((each) => each.test(text));
  return shown.filter((text) => fits(foreign, text) && !fits(own, text));
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
