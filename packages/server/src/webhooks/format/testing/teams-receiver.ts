import { type HttpAnswer, listen } from '@indelible/testing/http-receiver';

/** A card as a channel shows it. */
interface TeamsCard {
  /** Texts in which Teams reads Markdown. */
  markdown: string[];
  /** Texts that are shown as they are. */
  lines: string[];
  links: string[];
}

interface Inline {
  text: string;
  selectAction?: { type: string; url: string };
}
type Block = { type: 'TextBlock'; text: string } | { type: 'RichTextBlock'; inlines: Inline[] };

/** A workflow that posts the cards which it receives, by Microsoft's documentation. */
export async function teamsReceiver() {
  const state = {
    path: '/workflows/0123/triggers/manual/paths/invoke',
    signature: 'a-secret_signature-of-43-characters',
    trouble: null as number | null,
    cards: [] as TeamsCard[],
  };
  const receiver = await listen(({ method, path, query, body }) => {
    if (method !== 'POST' || path !== state.path) return error(404, 'WorkflowNotFound');
    if (query.get('sig') !== state.signature) return error(401, 'DirectApiAuthorizationRequired');
    if (query.get('api-version') !== '1') return error(400, 'MissingApiVersionParameter');
    if (state.trouble !== null) return error(state.trouble, 'Trouble');
    if (Buffer.byteLength(body) > 28_000) return error(413, 'RequestEntityTooLarge');
    return take(JSON.parse(body));
  });

  // biome-ignore lint/suspicious/noExplicitAny: what anybody may post
  function take({ type, attachments }: any): HttpAnswer {
    const [{ contentType, content }] = attachments;
    const isCard = contentType === 'application/vnd.microsoft.card.adaptive';
    if (type !== 'message' || !isCard || content.type !== 'AdaptiveCard') {
      return error(400, 'InvalidCard');
    }
    const inlines: Inline[] = content.body.flatMap((block: Block) =>
      block.type === 'RichTextBlock' ? block.inlines : [],
    );
    state.cards.push({
      markdown: content.body.flatMap((each: Block) => (each.type === 'TextBlock' ? each.text : [])),
      lines: content.body.flatMap((each: Block) =>
        each.type === 'RichTextBlock' ? each.inlines.map(({ text }) => text).join('') : [],
      ),
      links: [
        ...inlines.flatMap(({ selectAction }) => selectAction?.url ?? []),
        ...content.actions.map(({ url }: { url: string }) => url),
      ],
    });
    return { status: 202 };
  }
  return Object.assign(state, receiver);
}

const error = (status: number, code: string): HttpAnswer => {
  return { status, body: { error: { code, message: `${code} was the reason` } } };
};
