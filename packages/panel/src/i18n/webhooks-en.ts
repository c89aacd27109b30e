/* The words of the pages about webhooks; they are fetched with them. */

import { pluralIn } from './plural.ts';

const plural = pluralIn('en');

export const webhooksEn = {
  title: 'Webhooks',
  intro:
    'Endpoints that are sent the events of this log, in its order, at least once: your own application, or a log platform.',
  add: 'Add an endpoint',
  notAllowed: 'Your account may not manage webhooks.',
  closed: 'The tenant has left: nothing is sent any more.',
  full: (n: number) =>
    plural(n, `There is room for ${n} endpoint.`, `There is room for ${n} endpoints.`),
  empty: {
    title: 'No endpoint yet',
    text: 'Add one to have events sent as soon as they are recorded. It begins with what comes next; earlier events can be replayed.',
    signed:
      'Each message is signed as the Standard Webhooks describe, and repeated until it is taken.',
    streams: 'Splunk, Datadog and Elasticsearch are spoken to in their own formats.',
    recorded: 'Every delivery is recorded in this log.',
  },
  formats: {
    webhook: 'Signed webhook (JSON)',
    generic: 'Plain JSON',
    splunk_hec: 'Splunk HTTP Event Collector',
    datadog: 'Datadog Logs',
    elastic: 'Elasticsearch, OpenSearch',
  },
  formatHints: {
    webhook: 'For your own application: up to 100 events a message, signed.',
    generic: 'For collectors that take JSON over HTTP: events alone, signed in the headers.',
    splunk_hec: 'One envelope an event. What is sent twice is stored twice: deduplicate by id.',
    datadog: 'To the logs intake. Datadog takes a time for at most 18 hours old.',
    elastic: 'By the bulk API, under the id of the event: nothing is stored twice.',
  },
  types: {
    'audit.events.recorded': 'Events were recorded',
    'audit.export.ready': 'An export is ready',
    'audit.webhook.test': 'Test',
  },
  condition: {
    current: 'Up to date',
    behind: 'Sending',
    failing: 'Failing',
    stopped: 'Stopped',
    gone: 'Stopped',
    paused: 'Paused',
  },
  explained: {
    current: 'Everything recorded so far has been delivered.',
    behind: (n: number, text: string) =>
      plural(
        n,
        `${text} entry of the log is still to be looked at.`,
        `${text} entries of the log are still to be looked at.`,
      ),
    failing: (n: number, text: string) =>
      plural(
        n,
        `The message that is due has failed ${text} time.`,
        `The message that is due has failed ${text} times.`,
      ),
    nextAttempt: (when: string) => `Next attempt ${when}.`,
    stopped:
      'The same message failed at every attempt, for more than a day. Nothing is lost: once it is resumed, everything since is sent in order.',
    gone: 'The receiver answered 410, which says that it wants no more messages. Once it is resumed, everything since is sent in order.',
    paused: 'Somebody paused it. Once it is resumed, everything since is sent in order.',
  },
  behindBy: (n: number, text: string) =>
    plural(n, `${text} entry behind`, `${text} entries behind`),
  lastAttempt: 'Last attempt',
  never: 'Nothing sent yet',
  form: {
    create: 'New endpoint',
    edit: 'Change the endpoint',
    name: 'Name',
    nameHint: 'To tell it from others; optional.',
    url: 'URL',
    urlHint: 'https, and reachable from the internet.',
    format: 'Format',
    types: 'What it is told of',
    filters: 'Which events',
    allEvents: 'All of them, unless you choose.',
    options: 'Settings of the receiver',
    optional: 'optional',
    credential: {
      generic: 'Authorization header',
      splunk_hec: 'HEC token',
      datadog: 'API key',
      elastic: 'API key, or user:password',
    },
    credentialHint: 'Kept encrypted, and never shown again.',
    credentialKept: 'One is stored. Leave this empty to keep it.',
    forget: 'Forget the stored one',
    problems: {
      url: 'This has to be an https address that can be reached from the internet, without user name, password or fragment.',
      credential: 'Give it for this receiver: one that was stored for another is not sent to it.',
      types: 'Choose at least one.',
      name: 'This is too long, or not in one line.',
      urlOf: {
        splunk_hec: 'The token is asked for by itself.',
        datadog: 'The key is asked for by itself.',
        elastic: 'The index has a setting of its own.',
      },
      credentialAlone: 'Give it alone: plain characters, no spaces, nothing in front.',
      credentialLine: 'This has to be one line of plain characters, without spaces at its ends.',
      option: 'This is too long, or not in one line.',
      optionOf: {
        splunk_hec: {
          index: 'Lower case, digits, _ and - only, beginning with a letter or a digit.',
        },
        elastic: {
          index: 'Lower case, without spaces and without any of \\ / * ? " < > | , # :',
        },
        datadog: {
          ddtags: 'Tags with commas between them, each beginning with a letter, without spaces.',
        },
      },
      filters: 'At most 20 values of each kind.',
    },
    fromNow: 'It begins with what is recorded from now on.',
    save: 'Save',
    createIt: 'Create',
    cancel: 'Cancel',
  },
  options: {
    body: 'Body',
    index: 'Index',
    source: 'Source',
    sourcetype: 'Source type',
    host: 'Host',
    ddsource: 'Source (ddsource)',
    service: 'Service',
    ddtags: 'Tags (ddtags)',
    hostname: 'Host name',
    diff: 'Changed fields as',
  },
  choices: {
    array: 'one JSON array',
    ndjson: 'one event a line (NDJSON)',
    object: 'an object',
    text: 'text',
  },
  secret: {
    title: 'Signing secret',
    once: 'It is shown this once. Store it where your receiver checks signatures.',
    copy: 'Copy the secret',
    stored: 'I have stored it',
    previous: (when: string) =>
      `The one before it goes on signing as well until ${when}: change your receiver by then.`,
    check: 'How to check signatures',
  },
  rotate: {
    button: 'New secret',
    title: 'Make a new signing secret?',
    text: 'For 24 hours messages are signed with both, the new one and the present one. Then the present one is gone.',
    again: 'The one before it, which still signs as well, ends at once.',
    confirm: 'Make a new secret',
    until: (when: string) => `The secret before it signs as well until ${when}.`,
  },
  test: {
    button: 'Send a test',
    sending: 'Sending…',
    ok: (status: string) => `It answered ${status}: the endpoint works`,
    healthy: 'The receiver is reached, and knows the credential',
    failed: 'The test failed',
    noAnswer: 'No answer',
    answer: 'Answer',
    took: (ms: string) => `${ms} ms`,
  },
  pause: 'Pause',
  resume: 'Resume',
  tryNow: 'Try now',
  edit: 'Edit',
  refresh: 'Refresh',
  replay: {
    button: 'Replay',
    title: 'Send again from a point of the log on',
    text: 'Everything recorded from that number on that fits this endpoint is sent again, in order, with the same contents. A receiver that keeps event ids tells what it knows already.',
    from: 'From number',
    fromHint: (max: string) =>
      `The position in the log, as an event’s facts show it: from 0 to ${max}. What is past its retention is left out.`,
    now: (text: string) => `It would get number ${text} next.`,
    again: (n: number, text: string) =>
      plural(
        n,
        `${text} entry of the log is walked again.`,
        `${text} entries of the log are walked again.`,
      ),
    confirm: 'Send again',
    choose: (text: string) =>
      `Choose the endpoint that is to be sent everything from number ${text} on again.`,
  },
  remove: {
    button: 'Delete',
    title: (name: string) => `Delete ${name}?`,
    text: 'Nothing more is sent to it, and its log of deliveries goes. That it was deleted is recorded.',
    confirm: 'Delete the endpoint',
  },
  facts: {
    title: 'Endpoint',
    filters: 'Events',
    all: 'All',
    next: 'Next number',
    credential: 'Credential',
    stored: 'stored',
    created: 'Created',
    secret: 'Signing secret',
    set: 'set',
  },
  deliveries: {
    title: 'Deliveries',
    none: 'Nothing has been sent yet.',
    delivered: 'Delivered',
    failed: 'Failed',
    events: (n: number, text: string) => plural(n, `${text} event`, `${text} events`),
    range: (first: string, last: string) => `numbers ${first} to ${last}`,
    attempt: (n: string) => `attempt ${n}`,
    message: 'Message',
    status: 'Status',
    reason: 'Why',
    response: 'Answer',
    next: 'Next attempt',
    noAnswer: 'no answer',
    older: 'Older',
    newest: 'Newest',
    loading: 'Loading deliveries',
    noBody: 'empty',
  },
};

export type WebhookTexts = typeof webhooksEn;
