import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { atEnd } from './at-end.ts';

export interface ReceivedMail {
  from: string;
  to: string[];
  raw: string;
  parsed: Email;
}

/** A real SMTP server on loopback that stores its messages. */
export async function startSmtpServer(options: SMTPServerOptions = {}, at = 0) {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
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
  const { port } = listening.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(resolve));
  atEnd(close);
  return {
    received,
    port,
    url: `smtp://127.0.0.1:${port}`,
    close,
  };
}
