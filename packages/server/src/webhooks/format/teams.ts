import { jsonObject } from '../../outbound/answers.ts';
import type { OutboundCall } from '../../outbound/outbound.ts';
import { fine, post, said, statusVerdict } from './answers.ts';
import { alertMessage, type ChatLine, type ChatMessage, chatMessage } from './chat-lines.ts';
import type { FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';
import { credentialLike, soundCredential, urlCheck } from './value-checks.ts';

const signatureProblem = credentialLike(
  /^(?:[\w.~-]|%[0-7][\da-f])+$/i,
  'is not the value of `sig`, with which the address of the workflow ends',
);

/**
 * A card in a channel of Microsoft Teams, by a workflow that begins with "When a Teams webhook
 * request is received". Its address ends in the secret `sig`, which is the credential. Texts of
 * events stand in `TextRun`s, which read no Markdown, and mentions need entities, which a card of
 * ours never has: no text becomes a link or a mention.
 * From learn.microsoft.com: "Create and send messages" (webhooks of workflows: the attachment),
 * "Microsoft Teams connector" (a message has at most 28 KB), and adaptivecards.io, schema 1.4
 * (`RichTextBlock`, `TextRun`, `Action.OpenUrl`).
 */
export const teams = {
  options: {},
  credential: 'required',
  isForPeople: true,
  messageBytesMax: 1_000_000,
  credentialProblem: signatureProblem,
  urlProblem: urlCheck('sig'),
  deliver: (target, batch) => call(target, cardOf(chatMessage(batch, fits))),
  alert: (target, news) => call(target, cardOf(alertMessage(news))),
  judge,
  health: (target) => call(target, cardOf({ title: testTitle, lines: [], more: 0, url: null })),
} satisfies MessageFormat;

const testTitle = 'Test of the audit log: messages arrive here.';
const linesBytesMax = 20_000;

const fits = (lines: readonly ChatLine[]) =>
  Buffer.byteLength(JSON.stringify(lines.map(lineOf))) <= linesBytesMax;

const openUrl = (title: string, url: string) => ({ type: 'Action.OpenUrl', title, url });

function lineOf({ text, url }: ChatLine) {
  const open = { type: 'TextRun', text: 'Open', selectAction: openUrl('Open', url) };
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: `${text} · ` }, open] };
}

type Card = Omit<ChatMessage, 'url'> & { url: string | null };

function cardOf({ title, lines, more, url }: Card) {
  const text = (size: string, words: string) => {
    return { type: 'TextBlock', text: words, size, wrap: true };
  };
  const left = more > 0 ? [text('Default', `and ${more} more`)] : [];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [text('Medium', title), ...lines.map(lineOf), ...left],
    actions: url === null ? [] : [openUrl('Open the audit log', url)],
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}

function call(target: MessageTarget, payload: object): OutboundCall {
  const signature = soundCredential(target.credential, signatureProblem);
  const url = new URL(target.url);
  url.searchParams.set('sig', decodeURIComponent(signature));
  return post(url.href, JSON.stringify(payload));
}

/** Workflows answer 202; their errors are `{"error": {"code": "…", "message": "…"}}`. */
function judge(status: number, text: string): FormatVerdict {
  if (status === 202 || (status === 200 && said(text).length <= 1)) return fine;
  const { code, message } = { code: '', message: '', ...(jsonObject(text).error as object) };
  return statusVerdict('Teams', status, said(message, 100) || said(code, 100));
}
