/** The query parameter of a member: `resource_id` for `resourceId`. */
export function paramOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
