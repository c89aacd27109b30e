import { mkdtempSync, rmSync } from 'node:fs';
import process from 'node:process';
import { createClient } from '@indelible/client';
import { createRecorder } from '@indelible/client/recorder';
import { journey } from './journey.js';

const [url, key, webhook] = process.argv.slice(2);
const answer = JSON.parse(await journey(url, key, JSON.parse(webhook)));

// The recorder needs a disk, which an edge runtime lacks.
const spoolFolder = mkdtempSync('spool-');
const recorder = createRecorder({ client: createClient({ url, key }), spoolFolder });
const actor = { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' };
const resource = { type: 'queue', id: '5b0d6b1e-3f0c-4f2a-9d61-7f1f2c9b8a10' };
recorder.record({ actor, action: 'update', resource });
await recorder.close();
console.log(JSON.stringify({ ...answer, recorder: recorder.stats().sent }));
rmSync(spoolFolder, { recursive: true });
