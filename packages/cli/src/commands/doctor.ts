import type { Finding } from '@indelible/server';
import type { Command } from 'commander';
import { requireReachable } from '../connection.ts';
import { answer, type Environment, exitCodes, type Io, sentenceOf } from '../io.ts';
import { plainReasons, visible } from '../text.ts';

export function doctorCommand(program: Command, io: Io): void {
  program
    .command('doctor')
    .description('check environment, database, data folder and, with --url, a running service')
    .option('--url <address>', 'a running service that should be ready')
    .action(async ({ url, json }: { url?: string; json?: boolean }) => {
      const { diagnose } = await import('@indelible/server');
      const findings = await diagnose(io.env);
      if (url !== undefined) findings.push(await readiness(url, io.env));
      const failed = findings.some(({ level }) => level === 'fail');
      io.exitCode = failed ? exitCodes.finding : exitCodes.fine;
      await answer(io, json, findings, findings.map(findingLine).join(''));
    });
}

async function readiness(url: string, env: Environment): Promise<Finding> {
  try {
    await requireReachable({ url }, env);
    return { check: 'service', level: 'ok', detail: `${url} can record and read` };
  } catch (error) {
    return { check: 'service', level: 'fail', detail: sentenceOf(error) };
  }
}

function findingLine({ check, level, detail }: Finding): string {
  return `${level.padEnd(4)}  ${check}: ${visible(plainReasons(detail))}\n`;
}
