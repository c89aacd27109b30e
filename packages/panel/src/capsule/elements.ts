type Child = Node | string | null;

/** An element with text and elements in it. Text never becomes markup. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Child | readonly Child[])[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children.flat()) if (child !== null) element.append(child);
  return element;
}

/** Names and their values, as a list. */
export function factList(facts: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const rows = facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  return el('dl', {}, rows);
}

export const section = (title: string, ...children: readonly (Child | readonly Child[])[]) =>
  el('section', {}, el('h2', {}, title), ...children);
