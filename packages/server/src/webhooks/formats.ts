import type { WebhookFormat } from '@indelible/protocol';
import { datadog } from './format/datadog.ts';
import { elastic } from './format/elastic.ts';
import { generic } from './format/generic.ts';
import { pagerduty } from './format/pagerduty.ts';
import { slack } from './format/slack.ts';
import { splunkHec } from './format/splunk-hec.ts';
import type { StreamFormat } from './format/stream-format.ts';
import { teams } from './format/teams.ts';

export type StreamFormatName = Exclude<WebhookFormat, 'webhook'>;

/** Whether people read the messages: they are told of an alert once. */
export const isForPeople = (format: WebhookFormat) =>
  format !== 'webhook' && streamFormats[format].alert !== undefined;

/** The formats of streams; `webhook`, the service's own, is not one of them. */
export const streamFormats: Record<StreamFormatName, StreamFormat> = {
  splunk_hec: splunkHec,
  datadog,
  elastic,
  generic,
  slack,
  teams,
  pagerduty,
};
