/**
 * Why a call to an address of a tenant got no answer: clauses about the receiver, as deliveries say
 * them; the last ones are of restores. After `late` stands the time, after `failed` a code in
 * brackets. Panel and mail say them in their reader's language.
 */
export const callFailures = {
  urlUnreadable: 'its URL cannot be read',
  urlWithUser: 'its URL holds a user name or password',
  urlInsecure: 'its URL does not begin with https',
  namePrivate: 'its name is not a public one',
  addressPrivate: 'its address is not a public one',
  late: 'there was no answer within',
  refused: 'the connection was refused',
  broken: 'the connection was broken',
  unanswered: 'the connection ended without an answer',
  unresolved: 'its name cannot be resolved',
  nameServerUnsure: 'its name server does not know',
  nameServerLate: 'its name server did not answer',
  headersLarge: 'the headers of its answer are too large',
  secretsLost:
    'its secret, credential or headers cannot be decrypted, because SESSION_SECRET was changed, ' +
    'or its URL in the database: set them again',
  failed: 'the connection failed',
  restoreUrlLost: 'the tenant has no restore URL any more',
  restoreSecretLost:
    'the restore secret cannot be decrypted, because SESSION_SECRET was changed: remove ' +
    'the restore URL and set it again',
  answerLarge: 'the answer of the host product is larger than 64 KiB',
  answerUnclear: 'the host product answered neither applied nor refused',
  refusedSilently: 'the host product gave no reason',
} as const;

export type CallFailure = keyof typeof callFailures;

/** Before the clause in the reason of a failed restore. */
export const hostNotCalled = 'the host product could not be called: ';
