import type { Keeps } from '@indelible/protocol';

/*
 * Every text of the service's mail. Inserted into HTML unescaped, so without < > and &. `tenant` is
 * the tenant's name, escaped.
 */

export const en = {
  footer: 'This message was sent automatically. Please do not reply to it.',

  export: {
    ready: {
      subject: 'Your audit log export is ready',
      lead: (tenant: string) => `The export of the audit log of ${tenant} is ready.`,
      next:
        'The link opens the page of the export. Sign in there and download the file. If the SHA-256 of ' +
        'the file equals the one above, the file is complete and unchanged.',
    },
    failed: {
      subject: 'Your audit log export failed',
      lead: (tenant: string) => `The export of the audit log of ${tenant} failed.`,
      next:
        'The audit log itself is complete and unchanged: only the file is missing. Start the export ' +
        'again from its page. If it fails again, send the link below to the people who run the service.',
    },
    why: {
      storage: 'The service could not write the file to its storage. It tried several times.',
      interrupted: 'The export was interrupted at every attempt.',
      unexpected: 'An unexpected error stopped the export at every attempt.',
    },
    filters: 'Filters',
    allEvents: 'none (all events)',
    format: 'Format',
    rows: 'Rows',
    size: 'Size',
    requested: 'Requested',
    expires: 'Available until',
    open: 'Open the export',
  },

  terms: {
    subject: 'Your audit log has a shorter retention',
    liftedSubject: 'The legal hold on your audit log was lifted',
    emailsSubject: 'Other people are now told about your audit log',
    emails: (tenant: string) =>
      `The addresses that are told about changes to the audit log of ${tenant} were changed. Former addresses are told for 30 more days.`,
    smaller: (tenant: string) =>
      `The audit log of ${tenant} was moved to a plan with a shorter retention.`,
    lifted: (tenant: string) => `The legal hold on the audit log of ${tenant} was lifted.`,
    older: (keeps: Keeps) =>
      'days' in keeps
        ? `Events older than ${keeps.days} ${keeps.days === 1 ? 'day' : 'days'}`
        : `Events older than ${keeps.years} ${keeps.years === 1 ? 'year' : 'years'}`,
    hidden: (events: string, until: string) =>
      `${events} are hidden from now on. The service deletes them after ${until}. Until then nothing is ` +
      'lost: if the change is undone, they are visible again.',
    held: 'A legal hold is active. While it is active, the service neither hides nor deletes events.',
    plan: 'Plan',
    hold: 'Legal hold',
    liftedWord: 'lifted',
    told: 'Told',
    at: 'Changed at',
    by: 'Changed by',
    service: 'the application that writes to this log',
    reason: 'Declared reason',
    next: 'If you did not expect this change, ask the people who run the service. Export the events that you still need.',
    open: 'Open the audit log',
  },

  webhookPaused: {
    subject: 'A webhook of your audit log is paused',
    lead: (tenant: string) =>
      `The service could not deliver a message to a webhook of the audit log of ${tenant}. It retried, then paused the webhook.`,
    gone: (tenant: string) =>
      `The receiver of a webhook of the audit log of ${tenant} answered 410: it accepts no more messages. The service paused the webhook.`,
    name: 'Webhook',
    receiver: 'Receiver',
    reason: 'Last failure',
    attempts: 'Attempts',
    at: 'Paused at',
    behind: 'Not yet delivered',
    entries: (count: string) => `${count} entries of the log`,
    next:
      'The audit log itself is complete and unchanged. When you resume the webhook on its page, the service ' +
      'continues with the first event that was not delivered. It does not send events that are past the retention of the plan.',
    open: 'Open the webhook',
  },

  alert: {
    subject: 'Alert from your audit log',
    lead: (tenant: string) => `An alert rule of the audit log of ${tenant} was set off.`,
    rule: 'Rule',
    count: 'Alerts since the last message',
    at: 'Told at',
    next:
      'The link shows the alerts, and the events that set them off. The service sends at most one ' +
      'message about a rule in ten minutes. To have none for some time, mute the rule.',
    open: 'Open the alerts',
  },
};

export type MailTexts = typeof en;
