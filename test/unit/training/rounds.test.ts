/** Whole runs of a team that unfolds in rounds, on the real runtime, with environments that fail. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findEnvironmentKind } from '../../../src/environment/kinds.ts';
import type { Environments } from '../../../src/replay/unfold.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { errorOfKind } from '../replay/helpers.ts';
import { teamFolder, tinyWorld, type TinyRunOptions } from './tinyRun.ts';

const PATH = join(import.meta.dirname, '../../../media/examples/feedback.json');
const LOOP: TinyRunOptions = {
  protocol: parseProtocol(readFileSync(PATH, 'utf8'), PATH),
  overrides: ['fanout=[2,2]', 'evaluator_budget=12', 'steps=2', 'evaluation.instances=0'],
  evaluation: [],
};

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

describe('a run whose environment throws', () => {
  it('fails in one sentence, keeps its steps, and resumes to the weights of a run that never failed', async (t) => {
    const whole = await tinyWorld(t, team.folder);
    await whole.start(LOOP);
    const snapshots = (world: typeof whole): string[] => world.store.snapshotsOfRun('run-1').map(({ id }) => id);

    const broken = await tinyWorld(t, team.folder);
    const environments: Environments = (name) => {
      const kind = findEnvironmentKind(name);
      // From the second step on.
      const isBroken = broken.store.run('run-1').steps > 0;
      return kind === undefined || !isBroken
        ? kind
        : {
            ...kind,
            run: () => {
              throw new Error('The scale is broken.');
            },
          };
    };
    await assert.rejects(
      broken.start({ ...LOOP, environments }),
      errorOfKind(
        'engine',
        /^The environment 'feedback' of the protocol feedback-loop failed after \d+ events .*The scale is broken/,
      ),
    );
    assert.deepEqual(
      [broken.store.run('run-1').status, broken.store.run('run-1').steps, snapshots(broken)],
      ['failed', 1, snapshots(whole).slice(0, 2)],
    );
    await broken.resume(LOOP);
    assert.deepEqual(snapshots(broken), snapshots(whole));
  });
});
