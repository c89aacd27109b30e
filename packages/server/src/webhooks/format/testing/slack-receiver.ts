import { type HttpAnswer, listen } from '@indelible/testing/http-receiver';

/** A message as a channel shows it. */
interface SlackMessage {
  title: string;
  /** Visible text of each section. */
  lines: string[];
  /** Addresses that a reader can open. */
  links: string[];
  mentions: string[];
}

interface Text {
  type: string;
  text: string;
  verbatim?: boolean;
}

/** An incoming webhook, by Slack's documentation: limits, escaping, and errors as plain words. */
export async function slackReceiver() {
  const state = {
    path: '/services/T000/B000/c2VjcmV0LXdvcmQ',
    trouble: null as { status: number; word: string } | null,
    messages: [] as SlackMessage[],
  };
  const receiver = await listen(({ method, path, body }) => {
    if (method !== 'POST') return { status: 405 };
    if (path !== state.path) return { status: 404, body: 'no_service' };
    if (state.trouble) return { status: state.trouble.status, body: state.trouble.word };
    return take(JSON.parse(body));
  });

  function take({ text, blocks = [] }: { text?: string; blocks?: { text: Text; type: string }[] }) {
    const refused = (word: string): HttpAnswer => ({ status: 400, body: word });
    if (!text) return refused('no_text');
    if (blocks.length > 50) return refused('invalid_blocks');
    const tooLong = ({ type, text: each }: (typeof blocks)[number]) =>
      each.text.length > (type === 'header' ? 150 : 3_000);
    if (blocks.some(tooLong)) return refused('invalid_blocks');
    if (JSON.stringify(blocks).length > 13_000 + 100 * blocks.length)
      return refused('msg_too_long');
    const [header, ...sections] = blocks;
    const shown = [text, ...sections.map((each) => each.text.text)];
    state.messages.push({
      title: header?.text.text ?? text,
      lines: sections.map((each) => visible(each.text.text)),
      links: [...shown.flatMap(linksOf), ...sections.flatMap((each) => autoLinks(each.text))],
      mentions: shown.flatMap((each) => [...each.matchAll(/<[!@#][^>]*>/g)].map(([all]) => all)),
    });
    return { status: 200, body: 'ok' };
  }
  return Object.assign(state, receiver);
}

const linksOf = (mrkdwn: string) =>
  [...mrkdwn.matchAll(/<([^!@#>|][^>|]*)(?:\|[^>]*)?>/g)].map(([, url = '']) => url);

/** Without `verbatim` Slack makes links of addresses in plain text. */
function autoLinks({ text, verbatim }: Text): string[] {
  const plain = text.replace(/<[^>]*>/g, '');
  return verbatim === true ? [] : [...plain.matchAll(/https?:\/\/\S+/g)].map(([url]) => url);
}

const visible = (mrkdwn: string) =>
  mrkdwn
    .replace(/<[^>|]*\|([^>]*)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
