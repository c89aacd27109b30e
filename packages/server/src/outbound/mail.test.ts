import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { atEnd } from '@indelible/testing/at-end';
import { newFolder } from '@indelible/testing/folders';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { pino } from 'pino';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { createMailer, type MailerOptions, type OutgoingMail } from './mail.ts';

async function server(options: Parameters<typeof startSmtpServer>[0] = {}) {
  const started = await startSmtpServer(options);
  atEnd(() => started.close());
  return started;
}

/** A mailer, its folder, and every line it logs. */
function newMailer(options: Partial<MailerOptions> = {}) {
  const dataDir = newFolder();
  const logged: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => logged.push(line) });
  const mailFrom = 'Indelible <audit@example.com>';
  return {
    mailer: createMailer({ smtpUrl: null, mailFrom, dataDir, logger, ...options }),
    dataDir,
    outbox: join(dataDir, 'outbox'),
    logged,
  };
}

const mail: OutgoingMail = {
  id: '7b1c2f00-5a77-4b07-9a43-0d0f1c2b3a4e',
  to: 'ana@example.org',
  subject: 'La exportación está lista – 你好 🎉',
  text: 'Línea una\n\n.\nFrom here: ¿é? 🎉\n',
  html: '<p>Línea <b>una</b> 🎉</p>',
};

test('a message arrives as it was written, in both forms and in any script', async () => {
  const { received, url } = await server();
  const now = () => Date.parse('2026-01-02T03:04:05Z');
  const { mailer, logged } = newMailer({ smtpUrl: url, now });
  await mailer.send(mail);
  const [{ from, to, parsed, raw } = expect.unreachable('nothing arrived')] = received;
  expect({ from, to }).toEqual({ from: 'audit@example.com', to: ['ana@example.org'] });
  expect(parsed).toMatchObject({
    subject: mail.subject,
    from: { name: 'Indelible', address: 'audit@example.com' },
    to: [{ address: 'ana@example.org' }],
    date: '2026-01-02T03:04:05.000Z',
    messageId: `<${mail.id}@example.com>`,
    attachments: [],
  });
  expect(parsed.text?.trim()).toBe(mail.text.trim());
  expect(parsed.html?.trim()).toBe(mail.html);
  expect(raw).toMatch(/^Auto-Submitted: auto-generated\r$/im);
  expect(logged).toEqual([]);
});

test('a long message arrives whole', async () => {
  const { received, url } = await server();
  const text = `${'ein sehr langer Satz ohne Umbruch, é '.repeat(500)}\n`.repeat(5);
  await newMailer({ smtpUrl: url }).mailer.send({ ...mail, text });
  expect(received[0]?.parsed.text?.trim()).toBe(text.trim());
});

test('nothing that is sent can add a header, a recipient or a file', async () => {
  const { received, url } = await server();
  const { mailer } = newMailer({ smtpUrl: url });
  const hostile = 'Ready\r\nBcc: eve@example.net\r\n\r\nnew body\n.\r\nMAIL FROM:<eve@example.net>';
  await mailer.send({ ...mail, subject: hostile, text: hostile, html: '<img src="/etc/passwd">' });
  const [{ to, parsed } = expect.unreachable('nothing arrived')] = received;
  expect(to).toEqual(['ana@example.org']);
  expect(parsed.subject).toBe('Ready Bcc: eve@example.net new body . MAIL FROM:<eve@example.net>');
  expect(parsed.bcc).toBeUndefined();
  const ours = 'auto-submitted content-type date from message-id mime-version subject to';
  expect(parsed.headers.map(({ key }) => key).sort()).toEqual(ours.split(' '));
  expect(parsed.attachments).toEqual([]);
  for (const address of [
    ...['', 'ana', 'ana@', '@example.org', 'a@b@c', 'Ana <ana@example.org>', 'ana@example.org\r\n'],
    ...['ana@example.org, eve@example.net', 'ana@example.org;eve@example.net', '"a b"@example.org'],
    ...['ana@example.org\r\nRCPT TO:<eve@example.net>', 'ana @example.org', 'g:ana@example.org;'],
    ...['ana@exa\u0000mple.org', 'ana@exam\u202eple.org', `${'a'.repeat(320)}@example.org`],
  ]) {
    await expect(mailer.send({ ...mail, to: address }), address).rejects.toThrow(
      'no recipient is a mail address',
    );
    await mailer.send({ ...mail, to: ['ana@example.org', address] });
    expect(received.splice(1).map((each) => each.to)).toEqual([['ana@example.org']]);
  }
});

/** Listens, and then does nothing at all. */
async function silentServer(): Promise<string> {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  atEnd(() => silent.close());
  const address = silent.address();
  return `smtp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

test('a server that is down or silent is told from others, and soon', async () => {
  const gone = await startSmtpServer();
  await gone.close();
  const start = performance.now();
  await expect(newMailer({ smtpUrl: gone.url }).mailer.send(mail)).rejects.toThrow(
    /^the mail server of SMTP_URL cannot be reached \(\w+\)$/,
  );
  const silent = newMailer({ smtpUrl: await silentServer(), timeoutMs: 200 });
  await expect(silent.mailer.send(mail)).rejects.toThrow(/cannot be reached|in time/);
  // One that greets, and then takes for ever over each step.
  const slow = await server({ onMailFrom: () => {} });
  const { mailer } = newMailer({ smtpUrl: slow.url, timeoutMs: 300 });
  await expect(mailer.send(mail)).rejects.toThrow(/cannot be reached|in time/);
  expect(performance.now() - start).toBeLessThan(5_000);
});

/** The server quotes the address that it refuses, as real ones do. */
const refuseEve = {
  onRcptTo: (
    { address }: { address: string },
    _session: unknown,
    callback: (error?: Error) => void,
  ) =>
    address.startsWith('eve')
      ? callback(Object.assign(new Error(`no mailbox ${address}`), { responseCode: 550 }))
      : callback(),
};

test('a recipient that the server refuses fails the message, without being named', async () => {
  const { received, url } = await server(refuseEve);
  const { mailer, logged } = newMailer({ smtpUrl: url });
  const refused = mailer.send({ ...mail, to: 'eve@example.net' });
  await expect(refused).rejects.toThrow(/^the mail server refuses sender or recipients \(.*550\)$/);
  await expect(refused).rejects.toSatisfy((error) => !JSON.stringify(error).includes('eve'));
  expect(received).toEqual([]);
  expect(logged).toEqual([expect.stringContaining('refuses sender or recipients')]);
  expect(logged.join()).not.toContain('eve@');
});

test('recipients that the mail server takes get the message, and the others are counted', async () => {
  const { received, url } = await server(refuseEve);
  const { mailer, logged } = newMailer({ smtpUrl: url });
  await mailer.send({ ...mail, to: ['ana@example.org', 'eve@example.net', 'bo@example.org'] });
  expect(received.map(({ to }) => to)).toEqual([['ana@example.org', 'bo@example.org']]);
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { rejected: 1, msg: 'the mail server refused some recipients' },
  ]);
  expect(logged.join()).not.toMatch(/@|example|ana|exportaci/);
});

test('the server signs in with the credentials of SMTP_URL, and wrong ones are told without them', async () => {
  const { received, url } = await server({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, callback) =>
      username === 'us/er' && password === 'p@ss:word'
        ? callback(null, { user: username })
        : callback(new Error('no')),
  });
  const withCredentials = (text: string) => url.replace('//', `//${text}@`);
  await newMailer({ smtpUrl: withCredentials('us%2Fer:p%40ss%3Aword') }).mailer.send(mail);
  expect(received).toHaveLength(1);
  const wrong = newMailer({ smtpUrl: withCredentials('us%2Fer:hidden') }).mailer.send(mail);
  await expect(wrong).rejects.toThrow(/^the mail server of SMTP_URL refuses its credentials/);
  await expect(wrong).rejects.not.toThrow(/hidden/);
});

test('a server whose certificate no authority signed gets nothing', async () => {
  const { received, port } = await server({ secure: true });
  const { mailer } = newMailer({ smtpUrl: `smtps://localhost:${port}` });
  await expect(mailer.send(mail)).rejects.toThrow(/SMTP_URL/);
  expect(received).toEqual([]);
});

test('messages of a service without SMTP_URL are files in the outbox, whole and for this account alone', async () => {
  const now = () => Date.parse('2026-01-02T03:04:05.678Z');
  const { mailer, outbox, logged } = newMailer({ now });
  await Promise.all(Array.from({ length: 10 }, () => mailer.send(mail)));
  const files = readdirSync(outbox);
  expect(new Set(files).size).toBe(10);
  for (const file of files) {
    expect(file).toMatch(/^20260102T030405678Z-[0-9a-f]{12}\.eml$/);
    expect(statSync(join(outbox, file)).mode & 0o777).toBe(0o600);
    const parsed = await PostalMime.parse(readFileSync(join(outbox, file)));
    expect(parsed).toMatchObject({ subject: mail.subject, to: [{ address: 'ana@example.org' }] });
    expect(parsed.html?.trim()).toBe(mail.html);
  }
  expect(statSync(outbox).mode & 0o777).toBe(0o700);
  expect(logged).toHaveLength(10);
  expect(logged.join()).not.toMatch(/@|example|ana|exportaci/);
});

test('an outbox that cannot be written to fails the message, and leaves nothing half-written', async () => {
  const { mailer, outbox, dataDir } = newMailer();
  writeFileSync(outbox, 'a file where the folder should be');
  await expect(mailer.send(mail)).rejects.toThrow(/EEXIST|ENOTDIR/);
  expect(readdirSync(dataDir)).toEqual(['outbox']);
});

test.each([
  ['SMTP_URL', { smtpUrl: 'smtp://' }],
  ['SMTP_URL', { smtpUrl: 'smtp://mail.example.com?logger=true&debug=true&x=hidden' }],
  ['SMTP_URL', { smtpUrl: 'smtp://mail.example.com/?tls.rejectUnauthorized=false&x=hidden' }],
  ['SMTP_URL', { smtpUrl: 'smtp://mail.example.com/hidden' }],
  ['SMTP_URL', { smtpUrl: 'smtp://user:hidden%ZZ@mail.example.com' }],
  ['MAIL_FROM', { mailFrom: 'hidden' }],
  ['MAIL_FROM', { mailFrom: 'Audit <hidden>' }],
  ['MAIL_FROM', { mailFrom: 'Audit <audit@example.com>, Eve <hidden@example.com>' }],
])('a %s that cannot be used stops the start: %o', (name, options) => {
  expect(() => newMailer(options)).toThrow(new RegExp(`^${name} `));
  expect(() => newMailer(options)).not.toThrow(/hidden/);
});

test('MAIL_FROM may be an address alone, or have a quoted name', async () => {
  const { received, url } = await server();
  for (const mailFrom of ['audit@example.com', '"Audit, Inc." <audit@example.com>']) {
    await newMailer({ smtpUrl: url, mailFrom }).mailer.send(mail);
  }
  expect(received.map(({ parsed }) => parsed.from)).toMatchObject([
    { address: 'audit@example.com', name: '' },
    { address: 'audit@example.com', name: 'Audit, Inc.' },
  ]);
});
