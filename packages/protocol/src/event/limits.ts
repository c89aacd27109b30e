/**
 * The limits of events and calls, for service, client, command line and documentation. Text lengths
 * are in characters (code points), sizes in bytes of UTF-8. `docs.test.ts` compares
 * docs/recording.md with them.
 */

/** One event as JSON; also the body of a call that records one event. */
export const eventBytesMax = 600 * 1024;
/** The body of a batch. */
export const batchBytesMax = 8 * 2 ** 20;
export const batchEventsMax = 1_000;

/** `before` and `after`, each, as canonical JSON. */
export const stateBytesMax = 256 * 1024;
export const diffFieldsMax = 500;
/** A text in `from` or `to` of a diff. */
export const diffTextBytesMax = 32 * 1024;
/** Members of any other object of an event. */
export const membersMax = 32;

/** Actions and resource types. */
export const wordLengthMax = 64;
export const roleLengthMax = 64;
export const emailLengthMax = 320;
export const ipLengthMax = 64;
/** A longer user agent is cut, with a warning. */
export const userAgentLengthMax = 1_024;
export const reasonLengthMax = 1_000;
/** The length of reasons in errors and descriptions. */
export const reasonLength = `1 to ${withCommas(reasonLengthMax)} characters`;
/** The host's own id of an actor or resource. */
export const externalIdLengthMax = 200;
/** The name of a person or thing beside its id. */
export const nameLengthMax = 200;
/** Texts in `asSent`, and the length of each. */
export const asSentPathsMax = 20;
export const asSentLengthMax = 1_000;
export const onBehalfOfMax = 4;
export const targetsMax = 10;
/** Each text in `via`. */
export const viaTextLengthMax = 200;
export const correlationIdLengthMax = 128;
export const sourceIdLengthMax = 100;
export const metadataKeysMax = 50;
export const metadataKeyLengthMax = 40;
export const metadataTextLengthMax = 500;

/** An event that happened so long before it is recorded has a warning, unless configured. */
export const backdatedHoursDefault = 24;
/** How far an event's time may be ahead of the service's clock. */
export const futureMsMax = 5 * 60_000;

export const inKib = (bytes: number): string => `${bytes / 1024} KiB`;

/** `1,000`. Without `toLocaleString`, which loads ICU: 9 ms of each start, and 7 MiB. */
export function withCommas(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 event`, `1,234 events`; `many` where the plural is not `one` with an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${withCommas(count)} ${count === 1 ? one : many}`;
}
