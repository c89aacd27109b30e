import type { WebhookFormat } from '@indelible/client';

/** A setting of the receiver; with `choices` if only these values are valid. */
export interface OptionField {
  name: string;
  /** Shown in an empty field: the service's default, or an example. */
  placeholder: string;
  choices?: readonly string[];
}

interface FormatFields {
  urlExample: string;
  credential: 'none' | 'optional' | 'required';
  /** Whether messages are signed with a secret of ours. */
  isSigned: boolean;
  options: readonly OptionField[];
}

/** A stream, whose messages the receiver knows by its own credential. */
const stream = (
  urlExample: string,
  credential: FormatFields['credential'],
  ...options: OptionField[]
): FormatFields => ({ urlExample, credential, isSigned: false, options });

/** The fields of each format, in the order of the form; the service validates them. */
export const formatFields: Readonly<Record<WebhookFormat, FormatFields>> = {
  webhook: {
    urlExample: 'https://example.com/hooks/audit',
    credential: 'none',
    isSigned: true,
    options: [],
  },
  generic: {
    urlExample: 'https://collector.example.com/events',
    credential: 'optional',
    isSigned: true,
    options: [{ name: 'body', placeholder: 'array', choices: ['array', 'ndjson'] }],
  },
  splunk_hec: stream(
    'https://http-inputs-acme.splunkcloud.com',
    'required',
    { name: 'index', placeholder: 'main' },
    { name: 'source', placeholder: 'indelible' },
    { name: 'sourcetype', placeholder: 'indelible:audit' },
    { name: 'host', placeholder: 'audit.example.com' },
  ),
  datadog: stream(
    'https://datadoghq.com',
    'required',
    { name: 'ddsource', placeholder: 'indelible' },
    { name: 'service', placeholder: 'indelible' },
    { name: 'ddtags', placeholder: 'env:prod,team:security' },
    { name: 'hostname', placeholder: 'audit.example.com' },
    { name: 'diff', placeholder: 'object', choices: ['object', 'text'] },
  ),
  elastic: stream(
    'https://elastic.example.com:9200',
    'optional',
    { name: 'index', placeholder: 'logs-indelible.audit-default' },
    { name: 'diff', placeholder: 'text', choices: ['text', 'object'] },
  ),
  slack: stream('https://hooks.slack.com', 'required'),
  teams: stream(
    'https://….api.powerplatform.com/powerautomate/automations/direct/workflows/…',
    'required',
  ),
  pagerduty: stream('https://events.pagerduty.com', 'required', {
    name: 'severity',
    placeholder: 'error',
    choices: ['critical', 'error', 'warning', 'info'],
  }),
};

export const webhookFormats = Object.keys(formatFields) as WebhookFormat[];
