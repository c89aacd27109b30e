import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/* What can be held against any page by itself. */

/**
 * What axe finds in `within`: everything in light; in dark, where only colours differ, contrast.
 * And what a pointer can hardly hit.
 */
export async function violations(page: Page, name: string, within = 'html'): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    // Half a megabyte of script, given to each page once.
    const isThere = await page.evaluate<boolean>('window.axe !== undefined');
    const given = isThere ? { page, axeSource: 'void 0;' } : { page };
    // There are no frames, so that axe needs no page of its own to put their results together.
    const axe = new AxeBuilder(given).setLegacyMode().include(within);
    // Every rule that runs reads computed styles: sheets need not be fetched again.
    axe.options({ resultTypes: ['violations'], preload: false });
    if (colorScheme === 'dark') axe.withRules('color-contrast');
    for (const { id, nodes } of (await axe.analyze()).violations) {
      const where = nodes.map(({ target, any }) => `${target}: ${any[0]?.message ?? ''}`);
      found.push(`${name} (${colorScheme}): ${id} ${where.join(' | ')}`);
    }
  }
  return [...found, ...(await smallTargets(page, within))];
}

const phone = { width: 360, height: 740 };

/**
 * On a phone: that the page is wider than it, and which of these words are cut off. What people
 * have named may be cut, with an ellipsis; what the panel calls things may not.
 */
export async function misfits(page: Page, words: ReadonlySet<string>): Promise<string[]> {
  const before = page.viewportSize() ?? phone;
  await page.setViewportSize(phone);
  const placeholders = await cutPlaceholders(page);
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  const cut = (await cutOff(page)).filter((text) => words.has(text));
  await page.setViewportSize(before);
  return [...(width === phone.width ? [] : [`${width} px wide`]), ...cut, ...placeholders];
}

/** Placeholders that are wider than their fields. */
function cutPlaceholders(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('input[placeholder]')]
    .filter((field) => {
      const { font, paddingLeft, paddingRight } = getComputedStyle(field);
      const canvas = document.createElement('canvas').getContext('2d');
      canvas.font = font;
      const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
      return canvas.measureText(field.placeholder).width > room;
    })
    .map(({ placeholder }) => placeholder)`);
}

/** What a pointer cannot aim at within 24 by 24 pixels; a label belongs to what it names. */
function smallTargets(page: Page, within: string): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const sizeOf = (element) => element.getBoundingClientRect();
    const small = [...document.querySelectorAll('${within} :is(${targets})')].filter((target) => {
      const isShown = target.checkVisibility({ visibilityProperty: true }) && sizeOf(target).width > 1;
      const fillsRow = getComputedStyle(target, '::after').position === 'absolute';
      if (!isShown || fillsRow || target.closest('[aria-hidden=true]')) return false;
      const areas = [target, ...(target.labels ?? [])].map(sizeOf);
      return !areas.some(({ width, height }) => Math.min(width, height) >= 23.9);
    });
    return small.map((target) => {
      const { width, height } = sizeOf(target);
      const name = target.ariaLabel ?? target.innerText;
      return [target.tagName, name, target.className, width.toFixed(), height.toFixed()].join(' ');
    });
  })()`);
}

const targets = 'a[href], button, input, select, textarea, summary, [role=option]';

/**
 * Texts of which a part lies outside of what shows them; what can be scrolled there is not cut off.
 */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const cut = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (!node.data.trim()) continue;
      range.selectNodeContents(node);
      const { left, right, width } = range.getBoundingClientRect();
      let box = node.parentElement;
      while (box && width > 0) {
        const { overflowX } = getComputedStyle(box);
        const around = box.getBoundingClientRect();
        if (around.width <= 1 || overflowX === 'auto' || overflowX === 'scroll') break;
        const isEdge = box === document.body || overflowX !== 'visible';
        if (isEdge && (right > around.right + 1 || left < around.left - 1)) {
          cut.add(node.data.trim());
          break;
        }
        box = box.parentElement;
      }
    }
    return [...cut];
  })()`);
}
