import type { ExportRow } from '../../exports/store.ts';
import type { OutboundCall } from '../../outbound/outbound.ts';

/** The receiver of messages, as the customer entered it. */
export interface MessageTarget {
  /** A base URL or the full path of the call; `deliver` and `health` complete it. */
  url: string;
  credential: string | null;
  /** Only names in the format's `options`, with values that their checks accept. */
  options: Readonly<Record<string, string>>;
}

/** What every message has, whatever it tells. */
export interface Told {
  tenantId: string;
  /** Address of the panel's pages, without a slash at the end. */
  panelUrl: string;
  /** When the message was made first, in milliseconds. */
  atMs: number;
  /** The time of this attempt, in milliseconds. */
  nowMs: number;
}

export interface EventBatch extends Told {
  /** JSON texts of events as in the list, oldest first. */
  events: readonly string[];
}

/** Alerts that one rule has raised since the last message about it. */
export interface Alerts {
  ruleId: string;
  ruleName: string | null;
  /** The ids of their events, oldest first. */
  ids: readonly string[];
}

export interface AlertNews extends Told, Alerts {
  /** The page that lists them. */
  url: string;
}

/** The meaning of an answer. `reason` is a clause for the tenant's admins without credentials. */
export type FormatVerdict = { ok: true } | { ok: false; reason: string };

/** The end of a sentence with the value's problem (`is larger than 32 KiB`), or null. */
export type ValueCheck = (value: string) => string | null;

/**
 * The format of the service's own messages, or of one product. Pure: the caller sends the request
 * by the rules for outbound calls and passes status and text of the answer.
 */
export interface MessageFormat {
  /** Option names with their checks; other options are refused. */
  options: Readonly<Record<string, ValueCheck>>;
  /** Whether the receiver knows messages by a credential of its own. */
  credential: 'none' | 'optional' | 'required';
  /** Whether messages are signed with the webhook's secret. */
  isSigned?: true;
  /** People read the messages: they are told of an alert once. */
  isForPeople?: true;
  /** UTF-8 bytes of event texts in one message; a larger event is sent alone. */
  messageBytesMax: number;
  credentialProblem: ValueCheck;
  /** Problems of a URL beyond the rules of all outbound calls. */
  urlProblem: ValueCheck;
  /**
   * The sender adds length, user agent and signatures. Throws RangeError for a credential that
   * `credentialProblem` refuses.
   */
  deliver(target: MessageTarget, batch: EventBatch): OutboundCall;
  /** A message about alerts; without it they come as an event. Throws like `deliver`. */
  alert?(target: MessageTarget, news: AlertNews): OutboundCall;
  /** A message about a file that can be downloaded; others have no such message. */
  exportReady?(target: MessageTarget, told: Told, row: ExportRow): OutboundCall;
  judge(status: number, text: string): FormatVerdict;
  /** A call without an event, which tests a webhook. Throws like `deliver`. */
  health(target: MessageTarget, told: Told, webhookId: string): OutboundCall;
  /** Judges the answer to a health check; default: like the answer to a message. */
  judgeHealth?(status: number, text: string): FormatVerdict;
}
