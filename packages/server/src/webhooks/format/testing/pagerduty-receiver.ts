import { type HttpAnswer, listen } from '@indelible/testing/http-receiver';

/** An incident that an alert has opened. */
interface Incident {
  summary: string;
  severity: string;
  status: 'triggered' | 'acknowledged' | 'resolved';
  alerts: number;
  link: string;
  details: Record<string, string | null>;
}

/** The Events API v2, by PagerDuty's documentation: limits, deduplication, and errors. */
export async function pagerdutyReceiver() {
  const state = {
    key: 'R0123456789ABCDEF0123456789ABCDE',
    trouble: null as number | null,
    /** By `dedup_key`. */
    incidents: new Map<string, Incident>(),
  };
  const receiver = await listen(({ method, path, body }) => {
    if (method !== 'POST' || path !== '/v2/enqueue') return { status: 404 };
    if (state.trouble !== null) return invalid(state.trouble, 'try later');
    if (Buffer.byteLength(body) > 512 * 1_024) return invalid(413, 'too large');
    return take(JSON.parse(body));
  });

  // biome-ignore lint/suspicious/noExplicitAny: any JSON may arrive
  function take({ routing_key, event_action, dedup_key, payload, links }: any): HttpAnswer {
    if (routing_key !== state.key) return invalid(400, 'routing_key is unknown');
    if (dedup_key.length > 255) return invalid(400, 'dedup_key is too long');
    const open = state.incidents.get(dedup_key);
    const success = {
      status: 202,
      body: { status: 'success', message: 'Event processed', dedup_key },
    };
    if (event_action !== 'trigger') {
      if (open) open.status = event_action === 'acknowledge' ? 'acknowledged' : 'resolved';
      return success;
    }
    const { summary, source, severity, timestamp, custom_details: details } = payload;
    const isKnown = ['critical', 'error', 'warning', 'info'].includes(severity);
    if (
      !isKnown ||
      !source ||
      !summary ||
      summary.length > 1_024 ||
      Number.isNaN(Date.parse(timestamp))
    )
      return invalid(400, 'the payload is invalid');
    const link = links[0].href;
    const isNew = open === undefined || open.status === 'resolved';
    const alerts = isNew ? 1 : open.alerts + 1;
    const status = isNew ? ('triggered' as const) : open.status;
    state.incidents.set(dedup_key, { summary, severity, status, alerts, link, details });
    return success;
  }
  return Object.assign(state, receiver);
}

const invalid = (status: number, error: string): HttpAnswer => {
  return {
    status,
    body: { status: 'invalid event', message: 'Event object is invalid', errors: [error] },
  };
};
