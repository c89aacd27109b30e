import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { SendMailOptions } from 'nodemailer';
import type { Logger } from 'pino';
import { fileStore } from '../objects/file-store.ts';
import { codeOf } from '../postgres/embedded/error-code.ts';
import type { Mail } from './mail-page.ts';
import { isMailAddress, loopback } from './outbound-url.ts';
import { oneLine } from './plain-line.ts';

/** A message to send. */
export interface OutgoingMail extends Mail {
  /** UUID, the same at every attempt: most mail systems then show it once. */
  id: string;
  to: string | readonly string[];
}

export type Mailer = ReturnType<typeof createMailer>;

export interface MailerOptions {
  /** `smtp://` or `smtps://`, credentials percent-encoded; null = files under `dataDir`/outbox. */
  smtpUrl: string | null;
  /** An address, or `Name <address>`. */
  mailFrom: string;
  dataDir: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  now?: () => number;
  /** For one message, from the look-up to the server's last answer. */
  timeoutMs?: number;
}

/** Throws a sentence that names the variable if SMTP_URL or MAIL_FROM is invalid. */
export function createMailer(options: MailerOptions) {
  const { smtpUrl, dataDir, logger, now = Date.now, timeoutMs = 60_000 } = options;
  const from = readMailFrom(options.mailFrom);
  const deliver =
    smtpUrl === null
      ? toOutbox(join(dataDir, 'outbox'), logger, now)
      : toServer(readSmtpUrl(smtpUrl), logger, timeoutMs);
  return {
    /**
     * Resolves when the mail server accepted the message for at least one recipient. An address
     * that no mail can reach is left out, or it would keep the message from all others. Throws an
     * Error without addresses, within `timeoutMs`, so that the caller can continue.
     */
    async send({ id, to, subject, text, html }: OutgoingMail): Promise<void> {
      const all = [to].flat();
      const recipients = all.filter(isMailAddress);
      if (recipients.length === 0) throw new Error('no recipient is a mail address');
      const skipped = all.length - recipients.length;
      if (skipped > 0) logger.warn({ skipped }, 'some recipients are not mail addresses');
      await deliver({
        messageId: `<${id}@${from.address.split('@')[1]}>`,
        from,
        // Objects keep a part of an address from being read as another one.
        to: recipients.map((address) => ({ name: '', address })),
        subject: oneLine(subject),
        text,
        html,
        date: new Date(now()),
        // Prevents automatic replies.
        headers: { 'Auto-Submitted': 'auto-generated' },
        // Otherwise the composer would fetch paths and URLs in a body; ours are text.
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    },
  };
}

type Deliver = (message: SendMailOptions) => Promise<void>;

// Loaded with the first message: most processes send none for hours.
const nodemailer = () => import('nodemailer');

function toServer(
  server: ReturnType<typeof readSmtpUrl>,
  logger: MailerOptions['logger'],
  timeoutMs: number,
): Deliver {
  const stepMs = Math.min(10_000, timeoutMs);
  return async (message) => {
    const { createTransport } = await nodemailer();
    const transport = createTransport({
      ...server,
      dnsTimeout: stepMs,
      connectionTimeout: stepMs,
      greetingTimeout: stepMs,
      socketTimeout: Math.min(30_000, timeoutMs),
      logger: false,
    });
    // The signal also stops a server that sends without an end.
    const signal = AbortSignal.timeout(timeoutMs);
    const { rejected } = await transport.sendMail({ ...message, signal }).catch((error) => {
      const reason = signal.aborted ? tooLate : sentenceOf(error);
      logger.warn({ reason }, 'a message was not sent');
      throw new Error(reason);
    });
    if (rejected.length > 0) {
      logger.warn({ rejected: rejected.length }, 'the mail server refused some recipients');
    }
  };
}

function toOutbox(folder: string, logger: MailerOptions['logger'], now: () => number): Deliver {
  const outbox = fileStore(folder);
  return async (message) => {
    const { createTransport } = await nodemailer();
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
    const { message: bytes } = await transport.sendMail(message);
    const time = new Date(now()).toISOString().replace(/[-:.]/g, '');
    const file = `${time}-${randomBytes(6).toString('hex')}.eml`;
    await outbox.create();
    // Appears when it is complete, because a program may watch the folder.
    await outbox.putIfAbsent(file, bytes as Buffer);
    logger.info({ file }, 'SMTP_URL is not set: the mail is in the outbox folder of DATA_DIR');
  };
}

const tooLate = 'the mail server of SMTP_URL did not take the message in time';

/** Only codes: the server's text may quote addresses. */
function sentenceOf(error: unknown): string {
  const { responseCode } = error as { responseCode?: number };
  const code = codeOf(error);
  const detail = `(${[code, responseCode].filter(Boolean).join(' ')})`;
  if (code === 'EAUTH') return `the mail server of SMTP_URL refuses its credentials ${detail}`;
  if (code === 'ETLS') return `the mail server of SMTP_URL offers no safe connection ${detail}`;
  if (code === 'EENVELOPE') return `the mail server refuses sender or recipients ${detail}`;
  if (responseCode !== undefined) return `the mail server refuses the message ${detail}`;
  return `the mail server of SMTP_URL cannot be reached ${detail}`;
}

/**
 * Built from parts of the URL: nodemailer would accept any option in its query, also those that log
 * messages or disable certificate checks.
 */
function readSmtpUrl(smtpUrl: string) {
  const url = new URL(smtpUrl);
  const plain = url.search === '' && url.hash === '' && /^\/?$/.test(url.pathname);
  if (url.hostname === '' || !plain) {
    throw new Error('SMTP_URL must be smtp:// or smtps://, [user:password@], host and [:port]');
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const secure = url.protocol === 'smtps:';
  const auth = { user: decode(url.username), pass: decode(url.password) };
  const signsIn = auth.user !== '';
  const onThisMachine = loopback.includes(url.hostname);
  return {
    host,
    port: Number(url.port) || (secure ? 465 : 587),
    secure,
    // STARTTLS if offered, and never credentials in clear text. A relay on this machine usually has
    // an untrusted certificate, and its connection cannot be intercepted.
    requireTLS: signsIn && !onThisMachine,
    ignoreTLS: onThisMachine,
    ...(signsIn ? { auth } : {}),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('SMTP_URL must have its user and password percent-encoded');
  }
}

function readMailFrom(text: string) {
  const [, name = '', address = text] = /^([^<>]*)<([^<>]+)>$/.exec(text) ?? [];
  if (isMailAddress(address))
    return { name: oneLine(name.replace(/^\s*"(.*)"\s*$/, '$1')), address };
  throw new Error(
    'MAIL_FROM must be an address, or a name and an address: Audit <audit@example.com>',
  );
}
