import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { atEnd } from './at-end.ts';

interface ReceivedMail {
  from: string;
  to: string[];
  raw: string;
  parsed: Email;
}

/** A real SMTP server on loopback that stores its messages. It closes at the end. */
export async function startSmtpServer(options: SMTPServerOptions = {}) {
  const received: ReceivedMail[] = [];
  let server: SMTPServer;
  const open = async (at: number) => {
    server = new SMTPServer({
      authOptional: true,
      logger: false,
      ...options,
      async onData(stream, { envelope }, callback) {
        const raw = Buffer.concat(await stream.toArray());
        received.push({
          from: envelope.mailFrom ? envelope.mailFrom.address : '',
          to: envelope.rcptTo.map(({ address }) => address),
          raw: raw.toString(),
          parsed: await PostalMime.parse(raw),
        });
        callback();
      },
    });
    // Some tests disconnect in the middle.
    server.on('error', () => {});
    const listening = server.listen(at, '127.0.0.1');
    await once(listening, 'listening');
    return (listening.address() as AddressInfo).port;
  };
  const close = () => new Promise<void>((resolve) => server.close(resolve));
  const port = await open(0);
  atEnd(close);
  return { received, port, url: `smtp://127.0.0.1:${port}`, close, reopen: () => open(port) };
}
