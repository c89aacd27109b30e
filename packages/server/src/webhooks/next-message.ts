import { type EventFilter, resolvedFilter, storedFilter, typeId } from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { CutPage } from '../events/listed-row.ts';
import { eventJson } from '../events/prepared-event.ts';
import { type ExportRow, getExport } from '../exports/store.ts';
import { eventsById, inSequence } from '../list/list.store.ts';
import { eventsBetween } from '../log/entries.store.ts';
import type { TenantTx } from '../postgres/db.ts';
import type { Alerts } from './format/message-format.ts';
import { formats } from './formats.ts';
import { type WebhookRow, webhookIdPrefix } from './store.ts';

/** An event of a message, with its JSON text as in the list. */
export interface MessageEvent {
  sequence: number;
  text: string;
}

/** The next part of the log for a webhook; `end` is the sequence after it. */
type Next = { kind: 'nothing' } | { kind: 'passed'; end: number } | Content;

/** What a message holds. */
export type Content =
  | { kind: 'events'; end: number; events: MessageEvent[] }
  | ({ end: number } & News);

/** What a message of its own tells, at the sequence of its record. */
type News =
  | { kind: 'export'; sequence: number; export: ExportRow }
  /** `text` is the record of the message, as an event. */
  | ({ kind: 'alert'; alerts: Alerts } & MessageEvent);

const messageEventsMax = 100;

// Usually the next message's hundred events and the last record; more if few events match.
const firstChunkEntries = 128;
const chunkEntries = 512;
// A filter with few matches must not read endlessly: the position is stored in between.
const chunksMax = 20;

type DueWebhook = Pick<
  WebhookRow,
  'id' | 'format' | 'types' | 'filters' | 'nextSequence' | 'announcedSequence'
>;

/**
 * The message that is due after the webhook's position, up to `until`: at most 100 matching events
 * that the plan shows, in the order of the log, of at most `bytesMax` bytes. A larger event is sent
 * alone. Records of deliveries are never delivered. A ready export, and alerts that are told, are
 * separate messages, at their positions.
 */
export async function readNext(
  webhook: DueWebhook,
  visible: Visibility,
  until: number,
  bytesMax: number,
): Promise<Next> {
  const { isForPeople = false } = formats[webhook.format];
  const filter = resolvedFilter(storedFilter(webhook.filters), visible.tx.tenantId);
  const events = growingBatch(bytesMax, wantsAlerts(webhook) && isForPeople);
  let at = webhook.nextSequence;
  for (let chunk = 0; chunk < chunksMax && at < until; chunk++) {
    const end = Math.min(at + (chunk === 0 ? firstChunkEntries : chunkEntries), until);
    const uuids = await eventsBetween(visible.tx, at, end);
    const news = await firstNews(webhook, uuids, visible);
    const stop = news?.sequence ?? end;
    if (wantsEvents(webhook)) {
      const query = { ...inSequence, filter, limit: events.room() };
      const found = await eventsById(uuids.slice(0, stop - at), query, visible, bytesMax);
      const cut = events.add(found);
      if (cut !== null) return events.until(cut);
    }
    if (news && events.isEmpty()) return { end: stop + 1, ...news };
    at = stop;
    if (news) break;
  }
  return at > webhook.nextSequence ? events.until(at) : { kind: 'nothing' };
}

const wantsEvents = ({ types }: DueWebhook) => types.includes('audit.events.recorded');
const wantsAlerts = ({ types }: DueWebhook) => types.includes('audit.alert.raised');

/** The events of a message so far. `withoutAlerts`: messages of their own tell of them. */
function growingBatch(bytesMax: number, withoutAlerts: boolean) {
  const list: MessageEvent[] = [];
  let bytes = 0;
  const room = () => messageEventsMax - list.length;
  return {
    room,
    until: (end: number): Next =>
      list.length === 0 ? { kind: 'passed', end } : { kind: 'events', end, events: list },
    isEmpty: () => list.length === 0,
    /** Returns the end of the message if it is full with these, else null. */
    add({ rows, more }: CutPage): number | null {
      for (const row of rows) {
        if (row.action === 'send' && row.resourceType === 'webhook') continue;
        if (withoutAlerts && isAboutAlert(row)) continue;
        const text = eventJson(row, false, row.hasState);
        bytes += Buffer.byteLength(text);
        if (bytes > bytesMax && list.length > 0) return row.sequence;
        list.push({ sequence: row.sequence, text });
      }
      const last = rows.at(-1);
      return last && (more || room() === 0) ? last.sequence + 1 : null;
    },
  };
}

function isAboutAlert({ recordedByKind, resourceType, action }: Row): boolean {
  if (recordedByKind !== 'service' || resourceType !== 'alert') return false;
  return action === 'raise' || action === 'notify';
}

const aboutNews: EventFilter = {
  action: { any: ['export', 'notify'], none: [] },
  resource: { any: ['export', 'alert'], none: [] },
};

type Row = CutPage['rows'][number];

/** The first of these events that a message of its own tells. */
async function firstNews(
  webhook: DueWebhook,
  uuids: readonly string[],
  visible: Visibility,
): Promise<News | null> {
  // The record of alerts is among the events of a log platform.
  const isEvent = wantsEvents(webhook) && formats[webhook.format].alert === undefined;
  const tellsAlerts = wantsAlerts(webhook) && !isEvent;
  const tellsExports = webhook.types.includes('audit.export.ready');
  if (!tellsAlerts && !tellsExports) return null;
  const include = { total: false, state: tellsAlerts };
  const query = { ...inSequence, include, filter: aboutNews, limit: chunkEntries };
  const { rows } = await eventsById(uuids, query, visible, Number.MAX_SAFE_INTEGER);
  for (const row of rows) {
    if (row.recordedByKind !== 'service') continue;
    const isAlert = row.resourceType === 'alert';
    if (isAlert ? !tellsAlerts : !tellsExports) continue;
    const news = isAlert ? toldAlerts(webhook, row) : await readyExport(visible.tx, webhook, row);
    if (news) return news;
  }
  return null;
}

/** The alerts that this record names; null if they are not for this webhook. */
function toldAlerts({ id }: DueWebhook, row: Row): News | null {
  const { sequence, resourceId: ruleId, resourceName: ruleName, after } = row;
  if (row.action !== 'notify' || after === null) return null;
  const told = JSON.parse(after) as { alerts: string[]; webhookIds?: string[] };
  if (told.webhookIds?.includes(typeId(webhookIdPrefix, id)) === false) return null;
  const alerts = { ruleId, ruleName, ids: told.alerts };
  return { kind: 'alert', sequence, alerts, text: eventJson(row, true, row.hasState) };
}

/** The downloadable file that this record reports, if it is not announced yet. */
async function readyExport(
  tx: TenantTx,
  { announcedSequence }: DueWebhook,
  { action, sequence, resourceId }: Row,
): Promise<News | null> {
  if (action !== 'export' || sequence <= announcedSequence) return null;
  const found = await getExport(tx, resourceId);
  // Sent, failed and cancelled exports have no file to download.
  const isFile = found?.mode === 'job' && ['ready', 'expired'].includes(found.status);
  return found && isFile ? { kind: 'export', sequence, export: found } : null;
}
