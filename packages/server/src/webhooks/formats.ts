import type { WebhookFormat } from '@indelible/protocol';
import { datadog } from './format/datadog.ts';
import { elastic } from './format/elastic.ts';
import { generic } from './format/generic.ts';
import type { MessageFormat } from './format/message-format.ts';
import { pagerduty } from './format/pagerduty.ts';
import { slack } from './format/slack.ts';
import { splunkHec } from './format/splunk-hec.ts';
import { teams } from './format/teams.ts';
import { webhook } from './format/webhook.ts';

export const formats: Record<WebhookFormat, MessageFormat> = {
  webhook,
  splunk_hec: splunkHec,
  datadog,
  elastic,
  generic,
  slack,
  teams,
  pagerduty,
};
