import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchList } from './list.ts';
import { benchRecord } from './record.ts';
import { Report } from './report.ts';
import { startBenchService } from './bench-service.ts';

/*
 * `npm run bench` measures everything in one run, on one machine, each figure beside its limit:
 *   npm run bench -- --only record --seconds 10
 *   npm run bench -- --only list --events 10000000
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '15' },
    events: { type: 'string', default: '5000000' },
  },
});

const report = new Report();
console.log(
  `${cpus()[0]?.model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`,
);
const service = await startBenchService();
try {
  const { rows } = await service.owner.query<{ version: string }>('SELECT version()');
  console.log(rows[0]?.version);
  if (values.only !== 'list') await benchRecord(service, report, Number(values.seconds));
  if (values.only !== 'record') await benchList(service, report, Number(values.events));
} finally {
  await service.stop();
}
report.print();
