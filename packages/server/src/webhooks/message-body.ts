import { formatTimestamp, typeId } from '@indelible/protocol';
import type { ExportRow } from '../exports/store.ts';

/* The content of messages of the format `webhook`. */

export const webhookIdPrefix = 'whk_';
export const messageIdPrefix = 'msg_';
export const deliveryIdPrefix = 'dlv_';

/** `events` are JSON texts as in the list, oldest first, inserted unchanged. */
export function eventsBody(tenantId: string, atMs: number, events: readonly string[]): string {
  return body('audit.events.recorded', atMs, tenantId, `"events":[${events.join(',')}]`);
}

/** An export whose file can be downloaded until `expiresAt`. */
export function exportBody(atMs: number, row: ExportRow): string {
  const shown = {
    id: typeId('exp_', row.id),
    rows: row.rowsDone,
    bytes: row.bytes,
    sha256: row.sha256 && Buffer.from(row.sha256).toString('hex'),
    format: row.format,
    expiresAt: row.expiresAtMs === null ? null : formatTimestamp(row.expiresAtMs),
  };
  return body('audit.export.ready', atMs, row.tenantId, `"export":${JSON.stringify(shown)}`);
}

/** Alerts of one rule, which were told together. */
export interface ToldAlerts {
  ruleId: string;
  ruleName: string | null;
  /** Ids of their events, oldest first. */
  alertIds: string[];
  /** The record of the message, as an event. */
  text: string;
}

/** The page that lists the alerts of a rule; it needs sign-in. */
export const alertsUrl = (panelUrl: string, ruleId: string) =>
  `${panelUrl}/events?resource=alert&resource_id=${ruleId}`;

/** Alerts of a rule since the last message about it. */
export function alertBody(
  tenantId: string,
  atMs: number,
  { ruleId, ruleName, alertIds }: ToldAlerts,
  panelUrl: string,
): string {
  const url = alertsUrl(panelUrl, ruleId);
  const shown = { ruleId, ruleName, count: alertIds.length, ids: alertIds, url };
  return body('audit.alert.raised', atMs, tenantId, `"alerts":${JSON.stringify(shown)}`);
}

/** The message of a test. */
export function testBody(tenantId: string, webhookId: string, atMs: number): string {
  const shown = JSON.stringify(typeId(webhookIdPrefix, webhookId));
  return body('audit.webhook.test', atMs, tenantId, `"webhookId":${shown}`);
}

function body(type: string, atMs: number, tenantId: string, member: string): string {
  const data = `{"tenantId":"${tenantId}",${member}}`;
  return `{"type":"${type}","timestamp":"${formatTimestamp(atMs)}","data":${data}}`;
}
