/** Whether mail can be sent to `text`; events may name people by other addresses. */
export function isMailAddress(text: string): boolean {
  return text.length <= 320 && /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@]+$/u.test(text);
}
