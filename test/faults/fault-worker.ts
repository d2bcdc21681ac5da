/** A worker of the server under test: fault-worker.ts <folder> <wms url>. */
import { openTaskWorker } from '../../src/tasks/task-worker.ts';
import { openFaultHouse } from './fault-house.ts';

process.once('disconnect', () => process.exit(1));
process.on('SIGTERM', () => {});
const [folder = '', wmsUrl = ''] = process.argv.slice(2);
const house = await openFaultHouse(folder, wmsUrl);
await openTaskWorker({ ...house, channel: process }).stopped;
await house.close();
process.exit(0);
