/**
 * A process that asks for a recording: node recordOne.ts FOLDER COUNT TITLE [stay]. It writes its number into the file
 * COUNT when it makes it, and with `stay` it goes no further.
 */

import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openStoreForWriting } from '../../../src/store/write/writer.ts';
import { UNIT_RULE } from '../../support/headlines.ts';
import { copyRecording } from '../../support/recordedStores.ts';

const [folder = '', count = '', title = '', stay] = process.argv.slice(2);

const recorded = await copyRecording(
  'unit',
  {
    files: { 'title.txt': title },
    reads: [],
    prepare: async (at) => {
      appendFileSync(count, `${process.pid}\n`);
      if (stay !== undefined) {
        console.log('recording');
        await new Promise(() => setInterval(() => undefined, 60_000));
      }
      makeStore(at);
    },
    commands: [],
  },
  folder,
);
console.log(JSON.stringify(recorded));

/** A store with a run whose recipe names its folder. */
function makeStore(at: string): void {
  const path = join(at, '.c3', 'c3.sqlite');
  mkdirSync(dirname(path), { recursive: true });
  const store = openStoreForWriting(path, { headlines: UNIT_RULE });
  store.insertRun({
    ...{ id: 'one', method: 'c3', seed: 1, title, plannedSteps: 0, createdAt: '2026-01-01T10:00:00.000Z' },
    config: JSON.stringify({ folder: at }),
  });
  store.close();
}
