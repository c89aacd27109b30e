import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { answer, type Io, sentenceOf, UsageError } from '../io.ts';
import { requireNew } from '../kept-file.ts';
import { visible } from '../text.ts';

export function keygenCommand(program: Command, io: Io): void {
  program
    .command('keygen')
    .description('make an Ed25519 key that signs checkpoints (SIGNING_KEY_FILE)')
    .argument('<file>', 'the file to make; it must not exist')
    .action(async (path: string, options: { json?: boolean }) => {
      const { newSigningKey, openSigner } = await import('@indelible/server');
      writeSecret(path, `${newSigningKey()}\n`);
      const key = Buffer.from(await openSigner(path, false).publicKey()).toString('base64');
      const text = `${visible(path)} is made, readable by its owner only\npublic key (Ed25519): ${key}\n`;
      await answer(io, options.json, { file: path, publicKey: key }, text);
    });
}

/** Never overwrites a file: signatures of the old key may still have to be verified. */
function writeSecret(path: string, text: string): void {
  requireNew(path, 'file');
  let fd: number;
  try {
    fd = openSync(path, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(`${path} cannot be made: ${sentenceOf(error)}`);
  }
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
}
