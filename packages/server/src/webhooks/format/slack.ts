import type { OutboundCall } from '../../outbound/outbound.ts';
import { failed, fine, post, said, statusVerdict } from './answers.ts';
import { alertMessage, type ChatLine, type ChatMessage, chatMessage } from './chat-lines.ts';
import type { FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';
import { credentialLike, soundCredential, urlCheck } from './value-checks.ts';

const webhookPath = /^(?:https?:\/\/[^/\s]+)?(\/[\w./-]+)$/;
const pathProblem = credentialLike(
  webhookPath,
  'is not the address of an incoming webhook, or its path: /services/T…/B…/…',
);

/**
 * A message for a channel of Slack, by an incoming webhook. Its address is a secret: the path is
 * the credential, the host is the URL. Texts of events are `mrkdwn` with `&`, `<` and `>` escaped,
 * so that they hold no link and no mention, and `verbatim`, so that Slack makes none of plain text.
 * From docs.slack.dev: "Sending messages using incoming webhooks" (payload, `ok`, errors),
 * "Formatting message text" (escaping, `verbatim`) and "Section block" (3,000 characters),
 * "Header block" (150 characters), "Blocks" (50 a message).
 */
export const slack = {
  options: {},
  credential: 'required',
  isForPeople: true,
  messageBytesMax: 1_000_000,
  credentialProblem: pathProblem,
  urlProblem: urlCheck(),
  deliver: (target, batch) => call(target, payloadOf(chatMessage(batch, fits))),
  alert: (target, news) => call(target, payloadOf(alertMessage(news))),
  judge,
  health: (target) => call(target, { text: 'Test of the audit log: messages arrive here.' }),
} satisfies MessageFormat;

/** Slack refuses a message whose blocks are longer than some 13,000 characters together. */
const blocksLengthMax = 10_000;

const fits = (lines: readonly ChatLine[]) =>
  lines.reduce((sum, line) => sum + textOf(line).length, 0) <= blocksLengthMax;

function payloadOf({ title, lines, more, url }: ChatMessage) {
  const section = (text: string) => {
    return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
  };
  const left = more > 0 ? [section(`<${url}|and ${more} more>`)] : [];
  return {
    text: [title, escaped(lines[0]?.text ?? '')].join(': '),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
      ...lines.map((line) => section(textOf(line))),
      ...left,
    ],
  };
}

const textOf = ({ text, url }: ChatLine) => `${escaped(text)} · <${url}|Open>`;

/** The three characters that begin links, mentions and entities. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The URL decides the host, whatever host the pasted address names. */
function call(target: MessageTarget, payload: object): OutboundCall {
  const [, path = ''] = webhookPath.exec(soundCredential(target.credential, pathProblem)) ?? [];
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return post(new URL(target.url).origin + path, JSON.stringify(payload), headers);
}

/** Errors that stay until a person changes the webhook or the channel. */
const final: Record<string, string> = {
  no_service: 'the webhook was removed or switched off',
  no_team: 'the workspace is gone',
  invalid_token: 'it does not know this webhook',
  channel_not_found: 'the channel is gone',
  channel_is_archived: 'the channel is archived',
  action_prohibited: 'an administrator of the workspace does not allow it',
};

function judge(status: number, text: string): FormatVerdict {
  const word = text.trim();
  if (status === 200 && word === 'ok') return fine;
  const meaning = Object.hasOwn(final, word) ? final[word] : undefined;
  if (meaning !== undefined) return failed(`Slack refuses the message: ${meaning} (${word})`);
  return statusVerdict('Slack', status, said(text, 100));
}
