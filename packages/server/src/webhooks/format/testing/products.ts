import type { WebhookFormat } from '@indelible/protocol';
import { atEnd } from '@indelible/testing/at-end';
import { datadogReceiver } from './datadog-receiver.ts';
import { elasticReceiver } from './elastic-receiver.ts';
import { genericReceiver } from './generic-receiver.ts';
import { pagerdutyReceiver } from './pagerduty-receiver.ts';
import { slackReceiver } from './slack-receiver.ts';
import { splunkReceiver } from './splunk-receiver.ts';
import { teamsReceiver } from './teams-receiver.ts';

/** What a webhook to a product is made of. */
export interface Product {
  format: Exclude<WebhookFormat, 'webhook'>;
  receiver: { url: string };
  credential: string;
  options: Record<string, string>;
}

/** A product that keeps events. */
interface Collector extends Product {
  held: () => unknown[];
  clear: () => void;
  /** What it makes of a credential that it does not know: of a message, and of a test. */
  refused: string[];
}

/** A product that people read, line by line. */
interface Channel extends Product {
  read: () => string[];
}

const wrongKey =
  'Datadog does not accept the API key (403): check the key, that it is an API key, and the site in the URL';
const unknown = (receiver: string) => `${receiver} does not accept the credential (401)`;

/** Receivers that behave as the products do. */
export async function startProducts(now: () => number) {
  const [splunk, dog] = [await splunkReceiver(), await datadogReceiver(now)];
  const [cluster, collector] = [await elasticReceiver(), await genericReceiver()];
  const [slack, teams] = [await slackReceiver(), await teamsReceiver()];
  const duty = await pagerdutyReceiver();
  const all = [splunk, dog, cluster, collector, slack, teams, duty];
  atEnd(() => Promise.all(all.map(({ close }) => close())));
  const teamsUrl = `${teams.url}${teams.path}?api-version=1`;
  const collectors: [Collector, Collector, Collector, Collector] = [
    {
      format: 'splunk_hec',
      receiver: splunk,
      credential: splunk.token,
      options: { index: 'audit' },
      held: () => splunk.events.map(({ event }) => event),
      clear: () => void splunk.events.splice(0),
      refused: [4, 21].map((code) => `Splunk does not know the token (code ${code})`),
    },
    {
      format: 'datadog',
      receiver: dog,
      credential: dog.key,
      options: { ddtags: 'env:test' },
      held: () => dog.logs.map(({ attributes }) => attributes.indelible),
      clear: () => void dog.logs.splice(0),
      refused: [wrongKey, wrongKey],
    },
    {
      format: 'elastic',
      receiver: cluster,
      credential: 'aWQ6a2V5',
      options: {},
      held: () =>
        [...cluster.documents.values()].map(({ indelible }) => {
          const event = indelible as Record<string, unknown>;
          return { ...event, diff: JSON.parse(String(event.diff)) as unknown };
        }),
      clear: () => cluster.documents.clear(),
      refused: [unknown('Elasticsearch'), unknown('Elasticsearch')],
    },
    {
      format: 'generic',
      receiver: collector,
      credential: 'Bearer collector-token',
      options: { body: 'ndjson' },
      held: () => collector.events,
      clear: () => void collector.events.splice(0),
      refused: [unknown('the receiver'), unknown('the receiver')],
    },
  ];
  const channels: [Channel, Channel, Channel] = [
    {
      format: 'slack',
      receiver: slack,
      credential: slack.path,
      options: {},
      read: () => slack.messages.flatMap(({ lines }) => lines.slice(0, 20)),
    },
    {
      format: 'teams',
      receiver: { ...teams, url: teamsUrl },
      credential: teams.signature,
      options: {},
      read: () => teams.cards.flatMap(({ lines }) => lines),
    },
    {
      format: 'pagerduty',
      receiver: duty,
      credential: duty.key,
      options: {},
      read: () => [...duty.incidents.values()].map(({ summary, link }) => `${summary} ${link}`),
    },
  ];
  return { dog, cluster, collector, slack, teams, duty, collectors, channels };
}
