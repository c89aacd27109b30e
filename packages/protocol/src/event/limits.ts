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
export const resourceNameLengthMax = 200;
export const reasonLengthMax = 1_000;

/** How far an event's time may be ahead of the service's clock. */
export const futureMsMax = 5 * 60_000;

export const inKib = (bytes: number): string => `${bytes / 1024} KiB`;
