/* The words of what is to be believed: proofs, versions, operators' visits, evidence. */

import { pluralIn } from './plural.ts';

const plural = pluralIn('en');

export const trustEn = {
  proof: {
    checking: 'Your browser is checking the proof…',
    valid: 'Proven by your browser',
    validText: (position: string, size: string) =>
      `This event is entry ${position} of a signed log of ${size} entries. Your browser recomputed its hash, followed the inclusion proof to the signed checkpoint and checked the signature.`,
    limits:
      'That does not show that the event tells the truth, nor that no other event is missing.',
    failed: 'The proof does not hold',
    failedText: 'What the service shows is not what the signed log contains.',
    unavailable: 'No proof yet',
    unavailableText: 'The service could not give a proof just now.',
    again: 'Check again',
    details: 'What was checked',
    leaf: 'Leaf hash',
    key: 'Signed by',
    withoutErased: 'What was erased is in the log as hashes only: nobody can read or guess it.',
  },
  erased: {
    badge: 'Partly erased',
    value: 'erased',
    title: 'Part of this event was erased',
    change: 'the changed fields and the reason',
    identity: 'the person’s e-mail address, IP address and device, and the resource’s name',
    state: 'the states before and after',
    text: 'Whoever runs the service erased it, as when a person asks to be forgotten. That is an event of this log itself, with its reason.',
    stays: 'Everything else is as it was recorded, and the log still proves it.',
    records: 'See what was erased, and why',
  },
  left: {
    title: (tenant: string) => `${tenant} has left.`,
    text: (when: string) =>
      `Its events were removed on ${when}, and no more are recorded. The log of their hashes stays, and can still be verified.`,
  },
  versions: {
    title: 'Versions',
    intro: 'Choose any two versions to see them side by side.',
    count: (n: number) => plural(n, `${n} version`, `${n} versions`),
    left: 'Left',
    right: 'Right',
    current: 'Current',
    beforeFirst: 'Before the first recorded change',
    deleted: 'Deleted',
    same: 'These two versions are the same.',
    differing: (n: number) => plural(n, `${n} difference`, `${n} differences`),
    onlyDifferences: 'Only differences',
    none: 'No complete states were recorded for this resource.',
    erased: (n: number) =>
      plural(
        n,
        `The states of ${n} change were erased.`,
        `The states of ${n} changes were erased.`,
      ),
    pickLeft: (version: string) => `Show ${version} on the left`,
    pickRight: (version: string) => `Show ${version} on the right`,
    by: (who: string) => `by ${who}`,
    allEvents: 'All its events',
    absent: 'absent',
    history: 'History',
  },
  restore: {
    button: 'Restore this version',
    title: (name: string) => `Restore ${name}`,
    intro:
      'Your application will be asked to put these values back. It decides, and what it answers is recorded.',
    current: 'Current',
    target: 'Will become',
    confirm: 'Restore',
    cancel: 'Cancel',
    close: 'Close',
    working: 'Asking your application…',
    applied: 'Restored',
    appliedText: 'Your application has put the values back. Request and outcome are in the log.',
    refused: 'Your application refused',
    failed: 'Your application could not be reached',
    failedText: 'Nothing was changed as far as the service knows. The attempt is in the log.',
    unavailableTitle: 'Restoring is not set up',
    unavailableText:
      'Restoring needs an address of your application that puts values back. Whoever runs it sets restoreUrl for this tenant; the guide to restoring shows how.',
    notAllowed: 'Your account may not restore.',
    nothing: 'Nothing would change.',
  },
  access: {
    title: 'Operator access',
    intro:
      'Every look that the operator of this product took at your data, with the reason they gave. Nobody can remove an entry.',
    operator: 'Operator',
    reason: 'Declared reason',
    noReason: 'No reason declared',
    what: 'What was done',
    attested: 'Attested by',
    byService: 'The service itself',
    byKey: 'API key',
    byServiceHint: 'Written by the audit service at the moment of access.',
    byKeyHint: 'Reported by an application that holds this API key.',
    visits: (n: number) => plural(n, 'visit', 'visits'),
    operators: (n: number) => plural(n, 'operator', 'operators'),
    missing: 'without a reason',
    missingHere: (n: number, text: string) =>
      plural(
        n,
        `of the ${text} visit on this page without a reason`,
        `of the ${text} visits on this page without a reason`,
      ),
    download: 'Download CSV',
    none: 'No operator looked at your data in this time.',
  },
  recordings: {
    title: 'Recording access',
    intro: 'Who listened to or fetched recordings, per person and day.',
    person: 'Person',
    total: 'Total',
    cell: (who: string, day: string, count: string) => `${who}, ${day}: ${count}`,
    seeEvents: 'See them as a list, by person',
    none: 'No recording was accessed in this time.',
    unusual: 'Unusually many',
    legend: 'Accesses per day',
    fewer: 'fewer',
    moreOf: 'more',
    others: (n: number, text: string) =>
      plural(
        n,
        `and ${text} more person with fewer accesses`,
        `and ${text} more people with fewer accesses`,
      ),
    clipped: (days: number, range: string) =>
      `Only the last ${days} days of that time fit here: ${range}. The list has all of them.`,
  },
  integrity: {
    title: 'Integrity',
    intro:
      'Your log is a Merkle tree whose head the service signs. Your browser recomputes hashes, proofs and signature right here.',
    checkpoint: 'Latest checkpoint',
    size: 'Entries in the log',
    root: 'Root hash',
    origin: 'Log',
    key: 'Signing key',
    signature: 'Signature',
    signatureValid: 'Valid, checked by your browser',
    signatureInvalid: 'Not valid',
    retained: 'Events you can see',
    oldest: 'Oldest event',
    plan: 'Plan',
    verify: 'Verify this page',
    verifyLatest: (n: number) =>
      plural(n, 'Verify the latest event', `Verify the latest ${n} events`),
    verifying: (of: number, done: number) =>
      plural(of, `${done} of ${of} event checked`, `${done} of ${of} events checked`),
    verified: (n: number) =>
      plural(n, 'The event is in the signed log', `All ${n} events are in the signed log`),
    broken: (n: number) =>
      plural(
        n,
        `${n} of them does not agree with the signed log`,
        `${n} of them do not agree with the signed log`,
      ),
    history: 'Since your last visit',
    firstVisit:
      'This browser remembers this checkpoint from now on, and compares the next one with it.',
    unchanged: 'The log has not changed since your last visit.',
    extended: (before: string, now: string) =>
      `The log grew from ${before} to ${now} entries, and your browser has checked that nothing before was changed.`,
    rewritten:
      'The log does not continue the one this browser saw before. Keep this page and ask for an explanation.',
    note: 'The signed note',
    whole: 'To check the whole log, use the command line',
    copy: 'Copy',
  },
  evidence: {
    title: 'Evidence',
    single: 'Search kept as evidence',
    intro: 'Searches that were kept with what matched, to be shown and checked again later.',
    none: 'No search has been kept yet. On the events page, choose “Save as evidence”.',
    saveTitle: 'Keep this search as evidence',
    saveText:
      'The criteria, the exact range, how many events match and a digest of which are kept with the latest checkpoint. Whoever opens the page sees whether the answer is still the same.',
    note: 'What is it for?',
    noteHint: 'For example: case 4711, access to Ms Prado’s recordings',
    save: 'Keep',
    agrees: 'The answer is still the same',
    agreesText: 'The search was run again just now and matches the same events.',
    grown: 'The answer is the same, with more since',
    grownText: (n: number, text: string) =>
      `What matched when this was kept still matches. ${plural(n, `${text} matching event has`, `${text} matching events have`)} been recorded since.`,
    differs: 'The answer has changed',
    differsText: 'The search was run again just now and does not match the same events.',
    expired: 'Some of the events are past their retention since, and can no longer be shown.',
    whenKept: 'When kept',
    now: 'Now',
    matched: 'Matching events',
    digest: 'Digest of the matching ids',
    checkpoint: 'Checkpoint',
    entries: (n: number, text: string) => plural(n, `${text} entry`, `${text} entries`),
    criteria: 'Criteria',
    by: 'Kept by',
    proves: 'What this shows',
    provesNot: 'What this does not show',
    provesNone: (range: string) =>
      `In this log, no event recorded for ${range} matches these criteria.`,
    provesSome: (n: number, text: string, range: string) =>
      plural(
        n,
        `In this log, exactly ${text} event recorded for ${range} matches these criteria.`,
        `In this log, exactly ${text} events recorded for ${range} match these criteria.`,
      ),
    provesLog:
      'The log had the size and root hash of the checkpoint, which the service has signed: it cannot later show another log of that size.',
    notRecorded: 'That nothing happened which no system reported to this log.',
    notTruth: 'That what the reporting systems recorded is true.',
    notRetention: 'Anything about events that were past their retention when this was kept.',
    print: 'Print',
    seeEvents: 'See the events',
  },
};
