/**
 * The file of an evidence capsule: an HTML page with two JSON texts in it. They are ASCII without
 * line breaks, because an HTML parser would replace other characters before anything checks them.
 */

const openings = {
  data: '<script type="application/json" id="data">',
  record: '<script type="application/json" id="record">',
};
const closing = '</script>';

/** The parts of a capsule, exactly as they stand in the file. */
export interface CapsuleParts {
  data: string;
  /** The proof of the event that recorded the capsule, with the SHA-256 of `data`. */
  record: string;
}

/** JSON text in the spelling of a capsule: ASCII, and no `<` that could end the element. */
export function capsuleJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^ -~]|</g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The page with the parts in the places that its template has for them. */
export function capsuleFile(template: string, parts: CapsuleParts): string {
  let html = template;
  for (const [name, opening] of Object.entries(openings)) {
    const at = html.indexOf(opening + closing) + opening.length;
    if (at < opening.length) throw new Error(`the template has no place for ${name}`);
    html = html.slice(0, at) + parts[name as keyof CapsuleParts] + html.slice(at);
  }
  return html;
}

/** The parts of a capsule's file; null for another file. */
export function capsuleParts(html: string): CapsuleParts | null {
  const part = (opening: string) => {
    const start = html.indexOf(opening) + opening.length;
    const end = html.indexOf(closing, start);
    return start < opening.length || end < 0 ? null : html.slice(start, end);
  };
  const [data, record] = [part(openings.data), part(openings.record)];
  return data === null || record === null ? null : { data, record };
}
