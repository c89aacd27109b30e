/** What each generated client records: its own type of an event must admit it. */
export const event = {
  actor: { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', email: 'ana@example.com', role: 'admin' },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: 'Sales' },
  diff: { maxWaitSeconds: { from: 30, to: 60 } },
};

export const unknownId = 'evt_audit_01k47h5550fb39eqm1pvbfw85a';

/** What a generated client saw of the service: the same for each. */
export interface Seen {
  recorded: string;
  sequence: number;
  read: string | null;
  listed: string[];
  refused: string;
}
