/**
 * Entry of the process that examines one provider: `probe PROVIDER THREADS timed|untimed`. It sends
 * the report to the parent as one message.
 */

import { examineProvider } from '../runtime/provider/device.ts';
import { PROVIDERS } from '../shared/devices.ts';

const [provider, threads, timed] = process.argv.slice(2);
const known = PROVIDERS.find((name) => name === provider);
if (known === undefined || process.send === undefined) {
  throw new Error('This file is the entry of a process that examines a provider.');
}
// The parent disconnects when it has the report, or when it ends.
process.once('disconnect', () => process.exit(0));
process.send(await examineProvider(known, Number(threads), timed === 'timed'));
