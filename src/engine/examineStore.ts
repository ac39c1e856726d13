/** Entry of the process that examines a store: `examineStore PATH all|sampled`; what it found goes to the parent as one message. */
import { examineStore } from '../store/examine.ts';

const [path, extent] = process.argv.slice(2);
if (path === undefined || process.send === undefined) throw new Error('This file is the entry of a process that examines a store.');
// The parent hangs up when it has the report, or when it ends.
process.once('disconnect', () => process.exit(0));
process.send(examineStore(path, extent === 'all'));
