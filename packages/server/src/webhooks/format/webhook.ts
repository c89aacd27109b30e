import { formatTimestamp, type MessageType, typeId } from '@indelible/protocol';
import { fileOf, shownExport } from '../../exports/shown-export.ts';
import { isRedirect, isSuccess } from '../../outbound/answers.ts';
import type { OutboundCall } from '../../outbound/outbound.ts';
import { webhookIdPrefix } from '../store.ts';
import { failed, fine, post } from './answers.ts';
import type { FormatVerdict, MessageFormat, MessageTarget } from './message-format.ts';

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
  deliver: (target, { tenantId, atMs, events }) =>
    call(target, 'audit.events.recorded', atMs, tenantId, `"events":[${events.join(',')}]`),
  alert(target, { tenantId, ruleId, ruleName, ids, url, atMs }) {
    const shown = { ruleId, ruleName, count: ids.length, ids, url };
    return call(target, 'audit.alert.raised', atMs, tenantId, `"alerts":${JSON.stringify(shown)}`);
  },
  exportReady(target, row, atMs) {
    const { id, format, expiresAt } = shownExport(row, atMs);
    const shown = { id, ...fileOf(row), format, expiresAt };
    const content = `"export":${JSON.stringify(shown)}`;
    return call(target, 'audit.export.ready', atMs, row.tenantId, content);
  },
  judge,
  health(target, { tenantId, webhookId, atMs }) {
    const shown = JSON.stringify(typeId(webhookIdPrefix, webhookId));
    return call(target, 'audit.webhook.test', atMs, tenantId, `"webhookId":${shown}`);
  },
} satisfies MessageFormat;

function call(
  { url }: MessageTarget,
  type: MessageType | 'audit.webhook.test',
  atMs: number,
  tenantId: string,
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
