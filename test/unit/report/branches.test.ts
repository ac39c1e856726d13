/** The replays of an alternative in a report. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Message } from '../../../src/domain/message.ts';
import type { Replay } from '../../../src/domain/replay.ts';
import { Allowance } from '../../../src/report/allowance.ts';
import { readReplayedBranches } from '../../../src/report/branches.ts';
import type { ReplayVerdict } from '../../../src/store/types.ts';

/** A message that ends its episode, so that a replay of it adds none. */
const message = (id: number): Message =>
  ({ id, role: 'actor', turn: 1, position: 0, parent: null, text: String(id) }) as Message;
const replay = (alternative: number, replayIndex: number): Replay => ({
  id: 10 * alternative + replayIndex,
  bucket: 1,
  alternative,
  replayIndex,
  leaf: alternative,
  return: replayIndex,
  evaluatorCalls: 1,
  tokenHash: '',
  environment: 1,
});
const verdict = (alternative: number, replayIndex: number, result: ReplayVerdict['result']): ReplayVerdict => ({
  alternative,
  replayIndex,
  leaf: alternative,
  result,
  detail: '',
  difference: null,
});

it('each replay has its own verdict, and those of other alternatives are left out', () => {
  const replays = [replay(1, 0), replay(2, 0), replay(2, 1), replay(2, 2)];
  const verdicts = [
    verdict(1, 0, 'different'),
    verdict(1, 1, 'different'),
    verdict(2, 1, 'identical'),
    verdict(2, 0, 'notComparable'),
    verdict(2, 2, null),
  ];
  const branches = readReplayedBranches({ message }, message(2), replays, verdicts, new Allowance());
  assert.deepEqual(
    branches.map((branch) => [branch.replay, branch.return, branch.verification?.result]),
    [
      [0, 0, 'notComparable'],
      [1, 1, 'identical'],
      [2, 2, undefined],
    ],
  );
});
