import { formatTimestamp, type MessageType, typeId } from '@indelible/protocol';
import { fileOf, shownExport } from '../../exports/shown-export.ts';
import { isRedirect, isSuccess } from '../../outbound/answers.ts';
import type { OutboundCall } from '../../outbound/outbound.ts';
import { webhookIdPrefix } from '../store.ts';
import { failed, fine, post } from './answers.ts';
import type { FormatVerdict, MessageFormat, MessageTarget, Told } from './message-format.ts';

/**
 * The service's own messages, by standardwebhooks.com: a type, when the message was made first, and
 * its content. `message-schemas.ts` documents them.
 */
export const webhook = {
  options: {},
  credential: 'none',
  isSigned: true,
  messageBytesMax: 4 * 2 ** 20,
  credentialProblem: () => 'is not allowed for the format webhook, which is signed instead',
  urlProblem: () => null,
  /** The texts of events are inserted unchanged. */
  deliver: (target, batch) =>
    call(target, batch, 'audit.events.recorded', `"events":[${batch.events.join(',')}]`),
  alert(target, { ruleId, ruleName, ids, url, ...told }) {
    const shown = { ruleId, ruleName, count: ids.length, ids, url };
    return call(target, told, 'audit.alert.raised', `"alerts":${JSON.stringify(shown)}`);
  },
  exportReady(target, told, row) {
    const { id, format, expiresAt } = shownExport(row, told.atMs);
    const shown = { id, ...fileOf(row), format, expiresAt };
    return call(target, told, 'audit.export.ready', `"export":${JSON.stringify(shown)}`);
  },
  judge,
  health(target, told, webhookId) {
    const id = typeId(webhookIdPrefix, webhookId);
    return call(target, told, 'audit.webhook.test', `"webhookId":"${id}"`);
  },
} satisfies MessageFormat;

function call(
  { url }: MessageTarget,
  { tenantId, atMs }: Told,
  type: MessageType | 'audit.webhook.test',
  member: string,
): OutboundCall {
  const data = `{"tenantId":"${tenantId}",${member}}`;
  const body = `{"type":"${type}","timestamp":"${formatTimestamp(atMs)}","data":${data}}`;
  return post(url, body);
}

/** Any 2xx is a delivery, 410 ends them. */
function judge(status: number): FormatVerdict {
  if (isSuccess(status)) return fine;
  const answered = `the receiver answered ${status}`;
  if (status === 410) return failed(`${answered}: it accepts no more messages`);
  return failed(isRedirect(status) ? `${answered}, and redirects are not followed` : answered);
}
