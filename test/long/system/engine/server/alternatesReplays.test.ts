/** Two clients of one engine and a command line that replay by turns. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { it } from 'node:test';
import { REQUESTS } from '../../../../../src/shared/protocols/engineProtocol.ts';
import { newRecorded } from '../../../../support/recordedStores.ts';
import { openDoor, startEngine } from '../../../../unit/engine/engineProcess.ts';
import { c3, withStore } from '../../../../unit/engine/workspace.ts';

const TURNS = 50;
/** The command line replays beside a client once in this many turns. */
const EVERY = 10;

it('alternates 50 replays between two clients, with a command line between them, and refuses none', async (t) => {
  const { folder, run } = await newRecorded('pair');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const first = await startEngine(t, folder);
  const second = await openDoor(t, first.store);
  const message = withStore(
    folder,
    (store) => store.bucketsOfRun({ run, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
  );
  const requests = (): number => withStore(folder, (store) => store.countBuckets({ run, origin: 'request' }));
  const before = requests();
  for (let turn = 0; turn < TURNS; turn++) {
    const { connection } = turn % 2 === 0 ? first : second;
    await connection.sendRequest(REQUESTS.replay, { message, alternatives: 1, replays: 1, text: null });
    if (turn % EVERY !== 0) {
      continue;
    }
    const ours = connection.sendRequest(REQUESTS.replay, { message, alternatives: 1, replays: 1, text: null });
    const command = await c3(folder, ['replay', String(message), '--alternatives', '1', '--replays', '1', '--json']);
    assert.equal(command.code, 0, command.stderr);
    await ours;
  }
  assert.equal(requests() - before, TURNS + 2 * Math.ceil(TURNS / EVERY));
});
