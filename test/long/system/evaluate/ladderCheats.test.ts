/** 64 programs that cooperate for show, and some that really do, on both backends. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { LADDER_POINTS } from '../../../../src/evaluate/ladder.ts';
import { makeEvaluator } from '../../../../src/evaluate/named.ts';
import { LADDER_CHEATS, LADDER_HONEST, ladderProblem, ladderProgram } from '../../../system/evaluate/ladderCheats.ts';
import { BACKENDS, grader } from '../../../unit/evaluate/python/support.ts';

for (const backend of BACKENDS) {
  describe(`the executed ladder (${backend})`, () => {
    const one = grader({ backend, passRule: 'fraction', lanes: 2, limits: { seconds: 2 } });
    after(() => one.close());

    it('gives each program what it deserves', async () => {
      assert.equal(LADDER_CHEATS.length, 64);
      const evaluator = makeEvaluator('ladder-executed', 'mathematics', () => one);
      const given = await Promise.all(
        [...LADDER_CHEATS, ...LADDER_HONEST].map(async (cheat) => {
          const { score } = await evaluator.evaluate(ladderProblem, ladderProgram(cheat));
          return [cheat.body.join('; '), (score ?? Number.NaN) * LADDER_POINTS];
        }),
      );
      assert.deepEqual(
        given,
        [...LADDER_CHEATS, ...LADDER_HONEST].map(({ body, points }) => [body.join('; '), points]),
      );
    });
  });
}
