/**
 * One HTTP call, complete but for what the sender adds to each (length, user agent, signatures).
 */
export interface FormatRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Where a stream goes, as the customer entered it. */
export interface StreamTarget {
  /** A base URL or the full path of the call: `deliver` and `health` make of it what they need. */
  url: string;
  credential: string | null;
  /** Only names of the format's own `options`, each with a value that its check accepts. */
  options: Readonly<Record<string, string>>;
}

/** What goes into one message. */
export interface StreamBatch {
  messageId: string;
  tenantId: string;
  /** JSON texts of events as the list shows them, oldest first. */
  events: readonly string[];
  /** The moment of this attempt, in milliseconds. */
  nowMs: number;
}

/**
 * What an answer means. `reason` is a clause for the tenant's admins that holds no credential;
 * `mayPass` whether the same message may be taken later without anybody changing anything.
 */
export type FormatVerdict = { ok: true } | { ok: false; reason: string; mayPass: boolean };

/** A sentence's end that says what is wrong with a value (`is larger than 32 KiB`), or null. */
export type ValueCheck = (value: string) => string | null;

/**
 * The language of one product. Everything is pure; whoever calls sends the request under the rules
 * for outbound calls and hands back status and text of the answer.
 */
export interface StreamFormat {
  /** Names of options with a check each; others are refused. */
  options: Readonly<Record<string, ValueCheck>>;
  needsCredential: boolean;
  /** UTF-8 bytes of event texts in one message; one larger event travels alone. */
  batchBytesMax: number;
  credentialProblem: ValueCheck;
  /** What makes a URL unfit beyond the rules for every outbound call. */
  urlProblem: ValueCheck;
  /** Throws RangeError for a credential that `credentialProblem` refuses. */
  deliver(target: StreamTarget, batch: StreamBatch): FormatRequest;
  judge(status: number, text: string): FormatVerdict;
  /** Throws as `deliver` does. */
  health(target: StreamTarget): FormatRequest;
  judgeHealth(status: number, text: string): FormatVerdict;
}
