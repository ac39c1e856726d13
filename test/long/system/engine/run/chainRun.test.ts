/** The bundled chain team through the command line: three roles update in turn, and all of it is verified. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Interval } from '../../../../../src/domain/credit.ts';
import { gradeChain, parseChain } from '../../../../../src/evaluate/chain.ts';
import { c3, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-chain-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the bundled chain team', () => {
  it('says one letter each, scored together, and a step of teamtr updates all roles', async () => {
    const ran = await c3(folder, [
      'run',
      '--json',
      ...[
        'method=teamtr',
        'task={name: chain, roles: 3}',
        'steps=1',
        'instances_per_step=4',
        'evaluator_budget=12',
        'evaluation.instances=40',
        'adapter={per: role}',
      ].flatMap((one) => ['--override', one]),
    ]);
    assert.equal(ran.code, 0, ran.stderr);
    const run = String(parseLine(ran.stdout)['run']);
    const share = withStore(folder, (reader) => {
      const episodes = reader.episodes({ run, phase: 'evaluate', iteration: 2, offset: 0, limit: 1000 });
      assert.ok(episodes.length >= 40);
      let solved = 0;
      for (const { leaf, return: value, problem } of episodes) {
        const chain = reader.chain(leaf);
        assert.deepEqual(
          chain.map(({ text }) => /^[A-P]$/u.test(text)),
          [true, true, true],
        );
        const key = parseChain(reader.problem(problem).answer) ?? assert.fail();
        assert.equal(value, gradeChain(key, chain.map(({ text }) => text).join(', ')).score);
        solved += value;
      }
      // It knows where the steps lead better than how to come to the goal: there is something to learn.
      assert.ok(solved > 0.03 * episodes.length && solved < 0.9 * episodes.length, String(solved));
      const [step] = reader.steps(run, 0, 1);
      assert.equal(reader.stages(run, 1).length, 2);
      assert.ok((step?.metrics?.trustRegionKl ?? NaN) <= 0.01);
      return solved / episodes.length;
    });
    // Each role states a letter of the one answer: they agree on the correct one where all letters together are it.
    const diagnosed = parseLine((await c3(folder, ['diagnose', '--run', run, '--json'])).stdout);
    const coordination = diagnosed['coordination'] as Interval | null;
    assert.equal(coordination?.n, 40);
    assert.ok(Math.abs(coordination.value - share) < 1e-12, `${coordination.value} is not ${share}`);
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--sample', '20', '--json'])).stdout);
    assert.equal(verified['different'], 0);
    assert.ok(Number(verified['identical']) > 0);
  });
});
