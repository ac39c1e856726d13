import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { SaidEvent } from '../../../../src/domain/episode.ts';
import { findEnvironmentKind } from '../../../../src/environment/kinds.ts';
import { LADDER_POINTS } from '../../../../src/evaluate/ladder.ts';
import { makeEvaluator } from '../../../../src/evaluate/named.ts';
import { PythonGrader } from '../../../../src/evaluate/python/grader.ts';
import { sandboxPlaces } from '../../../support/programs.ts';
import { ladderProblem, SUM } from '../../../system/evaluate/ladderCheats.ts';

const main = (...body: string[]): string => `def add_up(n, k):\n${body.map((line) => `    ${line}\n`).join('')}`;

describe('the ladder in the sandbox', () => {
  const grader = new PythonGrader({ places: sandboxPlaces(), passRule: 'fraction', limits: { seconds: 2 } });
  after(() => grader.close());
  const scoreOf = async (
    rules: 'ladder' | 'ladder-executed' | 'ladder-published',
    helper: string,
    own: string,
  ): Promise<number> => {
    const messages = [helper, own].map((text, position): SaidEvent => ({
      kind: 'decision',
      position,
      role: position === 0 ? 'aux' : 'main',
      text,
    }));
    const join = findEnvironmentKind('join');
    const joined = await join?.run({
      problem: ladderProblem,
      log: [],
      messages,
      options: { take: 'functions' },
      uniform: () => 0,
    });
    const { score } = await makeEvaluator(rules, 'mathematics', () => grader).evaluate(
      ladderProblem,
      joined?.text ?? '',
    );
    return Math.round((score ?? Number.NaN) * LADDER_POINTS * 1e9) / 1e9;
  };

  it('runs no test after three that ran out of time, and counts what passed before', async () => {
    const slow = main('while n > 0: pass', 's = aux(n, k)', 'return 2 * s');
    assert.equal(await scoreOf('ladder', SUM, slow), 3.5);
  });
});
