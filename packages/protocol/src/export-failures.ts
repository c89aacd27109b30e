/** Why an export failed for good. The panel says it in its reader's language. */
export const exportFailures = {
  storage: 'the file could not be written to the object store in several attempts',
  interrupted: 'every attempt was interrupted',
  unexpected: 'an unexpected error stopped it',
  aborted: 'the connection was closed before the file was complete',
} as const;

export type ExportFailure = keyof typeof exportFailures;
