/**
 * A process that re-executes a recording and prints what differed. Usage: node test/determinism/reexecute.ts RECORDING
 * THREADS LARGEST, the last of which is the size of the largest batch
 */

import { reexecute } from './replays.ts';

const [path = '', threads = '1', largest = '256'] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await reexecute(path, Number(threads), Number(largest))));
