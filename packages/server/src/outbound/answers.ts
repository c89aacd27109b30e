/* What receivers answer. */

export const isSuccess = (status: number) => status >= 200 && status < 300;
export const isRedirect = (status: number) => status >= 300 && status < 400;

/** The text as a JSON object; an empty one if it is not one. */
export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** An external text as one line without control characters. */
export const lineOf = (text: string) => text.replace(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ').trim();
