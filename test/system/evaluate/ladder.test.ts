import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { SaidEvent } from '../../../src/domain/episode.ts';
import { findEnvironmentKind } from '../../../src/environment/kinds.ts';
import { LADDER_POINTS } from '../../../src/evaluate/ladder.ts';
import { makeEvaluator } from '../../../src/evaluate/named.ts';
import { PythonGrader } from '../../../src/evaluate/python/grader.ts';
import { sandboxPlaces } from '../../support/programs.ts';
import { LADDER_CHEATS, ladderProblem, ladderProgram, SUM } from './ladderCheats.ts';

const main = (...body: string[]): string => `def add_up(n, k):\n${body.map((line) => `    ${line}\n`).join('')}`;

/** The table of section 8 of the MAGRPO reference; a third number where checked rules say something else. */
const VECTORS: readonly (readonly [name: string, helper: string, main: string, published: number, checked?: number])[] =
  [
    ['right', SUM, main('s = aux(n, k)', 'return 2*s'), 4],
    ['returns aux directly', SUM, main('return aux(n, k)'), 2.5],
    ['twice aux in one line', SUM, main('return 2*aux(n, k)'), 3, 4],
    ['aux computes all', 'def aux(n, k):\n    return 2 * (n + k)\n', main('s = aux(n, k)', 'return s'), 3],
    ['does not use aux', SUM, main('return 2 * (n + k)'), 2.5],
    [
      'aux without return',
      'def aux(n, k):\n    n + k\n',
      main('s = aux(n, k)', 'return 2 * (n + k) if s is None else s'),
      3.6,
    ],
    ['result ignored', SUM, main('s = aux(n, k)', 'return 2 * (n + k)'), 4, 3.5],
    ['ignored so that it fires', 'def aux(n):\n    return n\n', main('aux (n)', 'return 2 * (n + k)'), 3.5],
    ['main missing', SUM, 'x = 1', 0.4],
    ['main without return', SUM, main('s = aux(n, k)'), 0.4],
    ['neither', '', '', 0],
    ['syntax error', SUM, main('s = aux(n, k', 'return 2 * s'), 1],
    ['3 of 4 tests', SUM, main('s = aux(n, k)', 'return 2 * s if n != 2 else 0'), 3.75],
    ['0 of 4 tests', SUM, main('s = aux(n, k)', 'return s + 99'), 1.5],
    ['empty aux', '', main('return 2 * (n + k)'), 2.1],
    ['extra helper', SUM, `def twice(x):\n    return 2 * x\n${main('s = aux(n, k)', 'return twice(s)')}`, 1.5],
    ['fenced', `\`\`\`python\n${SUM}\`\`\``, `Here:\n\`\`\`python\n${main('s = aux(n, k)', 'return 2 * s')}\`\`\``, 4],
    ['helper redefines main', SUM + main('return 7'), main('s = aux(n, k)', 'return 2 * s'), 4],
    // The value goes nowhere, by whatever way.
    ['overwritten', SUM, main('s = aux(n, k)', 's = 2 * (n + k)', 'return s'), 4, 3.5],
    ['used in a loop', SUM, main('t = 0', 'for i in range(2):', '    t += aux(n, k)', 'return t'), 4],
    ['used by a function within', SUM, main('s = aux(n, k)', 'def twice():', '    return 2 * s', 'return twice()'), 4],
    [
      'leaves the interpreter for one test',
      SUM,
      main('if n == 2: raise SystemExit', 's = aux(n, k)', 'return 2 * s'),
      3.75,
    ],
  ];

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

  for (const [name, helper, own, published, checked = published] of VECTORS) {
    it(`gives ${checked} by its own rules and ${published} by the published ones: ${name}`, async () => {
      assert.equal(await scoreOf('ladder', helper, own), checked);
      assert.equal(await scoreOf('ladder-executed', helper, own), checked);
      assert.equal(await scoreOf('ladder-published', helper, own), published);
    });
  }

  it('counts no call that never happens, no result that goes nowhere, and hands nothing to what hands on', async () => {
    const evaluator = makeEvaluator('ladder-executed', 'mathematics', () => grader);
    // One of each: dead code, a dropped result, a wrapper.
    for (const cheat of [LADDER_CHEATS[0], LADDER_CHEATS[26], LADDER_CHEATS.at(-10)]) {
      assert.ok(cheat);
      const { score } = await evaluator.evaluate(ladderProblem, ladderProgram(cheat));
      assert.equal((score ?? Number.NaN) * LADDER_POINTS, cheat.points, cheat.body.join('; '));
    }
  });
});
