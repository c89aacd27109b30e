import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchAlerts } from './alerts.ts';
import { benchArchive } from './archive.ts';
import { startBenchService } from './bench-service.ts';
import { benchExport } from './export.ts';
import { benchList } from './list.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchOutbox } from './outbox.ts';
import { benchPanel } from './panel.ts';
import { benchProof } from './proof.ts';
import { benchRecord } from './record.ts';
import { benchRecorder } from './recorder.ts';
import { Report } from './report.ts';
import { benchRetention } from './retention.ts';
import { benchVerify } from './verify.ts';
import { benchWebhooks } from './webhooks.ts';

/*
 * `npm run bench` measures everything in one run, on one machine, each figure beside its limit:
 *   npm run bench -- --only record --seconds 10
 *   npm run bench -- --only recorder
 *   npm run bench -- --only outbox
 *   npm run bench -- --only list --events 10000000
 *   npm run bench -- --only export --rows 1000000     (needs psql)
 *   npm run bench -- --only panel --shown 1000000
 *   npm run bench -- --only proof --proven 1000000
 *   npm run bench -- --only archive --archived 100000
 *   npm run bench -- --only retention --expired 5000000
 *   npm run bench -- --only verify --verified 200000
 *   npm run bench -- --only neighbours --asked 1000000
 *   npm run bench -- --only webhooks --delivered 50000
 *   npm run bench -- --only alerts --tested 10000000
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '15' },
    events: { type: 'string', default: '5000000' },
    rows: { type: 'string', default: '1000000' },
    shown: { type: 'string', default: '1000000' },
    proven: { type: 'string', default: '1000000' },
    expired: { type: 'string', default: '5000000' },
    archived: { type: 'string', default: '100000' },
    verified: { type: 'string', default: '200000' },
    asked: { type: 'string', default: '1000000' },
    delivered: { type: 'string', default: '50000' },
    tested: { type: 'string', default: '1000000' },
  },
});

const report = new Report();
console.log(
  `${cpus()[0]?.model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`,
);
const wants = (part: string) => values.only === undefined || values.only === part;
if (wants('verify')) benchVerify(report, Number(values.verified));
if (values.only !== 'verify') await benchService();
report.print();

/** Everything that is measured on a running service. */
async function benchService(): Promise<void> {
  const service = await startBenchService();
  try {
    const { rows } = await service.owner.query<{ version: string }>('SELECT version()');
    console.log(rows[0]?.version);
    if (wants('record')) await benchRecord(service, report, Number(values.seconds));
    if (wants('recorder')) await benchRecorder(service, report);
    if (wants('outbox')) await benchOutbox(service, report);
    if (wants('list')) await benchList(service, report, Number(values.events));
    if (wants('retention')) await benchRetention(service, report, Number(values.expired));
    if (wants('archive')) await benchArchive(service, report, Number(values.archived));
    if (wants('export')) await benchExport(service, report, Number(values.rows));
    if (wants('panel')) await benchPanel(service, report, Number(values.shown));
    if (wants('proof')) await benchProof(service, report, Number(values.proven));
    if (wants('neighbours')) await benchNeighbours(service, report, Number(values.asked));
    if (wants('webhooks')) await benchWebhooks(service, report, Number(values.delivered));
    if (wants('alerts')) {
      await benchAlerts(service, report, Number(values.tested), Number(values.seconds));
    }
  } finally {
    await service.stop();
  }
}
