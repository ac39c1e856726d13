/** What a team is shown of a second turn: a draft, the feedback on it, and the right messages. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Examination } from '../../../src/domain/message.ts';
import { generateSplit } from '../../../src/tasks/split.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { isRevised, makeRevisions, type Examine } from '../../../src/training/pretrain/revisions.ts';

const PROTOCOL = readFileSync(join(import.meta.dirname, '../../../media/team-functions/protocol.json'), 'utf8');
const protocol = parseProtocol(PROTOCOL, 'protocol.json', { turns: 2 });
const problems = generateSplit({ task: 'functions', seed: 'revisions', train: 200, evaluation: 0, roles: 2 }).train;

/** Finds both functions in the program, and one failed test. */
const examine: Examine = ({ tests }, program) => {
  const found: Examination = {
    entryPoint: tests?.entryPoint ?? '',
    helper: { source: program, returns: true },
    main: { source: program, returns: true },
    syntax: null,
    usage: { called: true, used: true, wrapper: false },
    tests: [{ source: 'assert f(1) == 2', passed: false, detail: 'AssertionError' }],
    testCount: 1,
  };
  return Promise.resolve(found);
};

describe('demonstrations of a second turn', () => {
  it('hold for each role its question, its own draft and the feedback, and answer with the right message', async () => {
    const [problem] = problems;
    assert.ok(problem);
    const seen: string[] = [];
    const [aux, main] = await makeRevisions(problem, protocol, (problem, program, slice) => {
      seen.push(`${slice} ${program}`);
      return examine(problem, program, slice);
    });
    assert.deepEqual([aux?.message, main?.message], problem.said);
    const isHasty = aux?.context.includes(problem.saidInHaste[0] ?? '') === true;
    const [auxDraft = '', mainDraft = ''] = isHasty ? problem.saidInHaste : problem.said;
    // As the protocol's history renders a second turn, in the words of level_feedback.
    assert.equal(
      aux?.context,
      [
        `Original problem and instructions:\nWrite aux.\n\nProblem:\n${problem.question.trim()}`,
        `Your last aux implementation:\n${auxDraft}`,
        [
          'aux: defined.',
          `${problem.tests?.entryPoint ?? ''}: defined.`,
          'Syntax: ok.',
          'Tests: 0 of 1 passed.',
          '- assert f(1) == 2: AssertionError',
          'Revise your function aux. Write the code only.\n',
        ].join('\n'),
      ].join('\n\n'),
    );
    assert.ok(main !== undefined && main.context.includes(`Your last main implementation:\n${mainDraft}\n\n`));
    assert.ok(!main.context.includes(auxDraft) && !main.context.includes(problem.said[0] ?? ''));
    // Both parts of the draft were executed, against the first test.
    assert.equal(seen.length, 1);
    assert.ok(seen[0]?.startsWith('1 ') && seen[0].includes(auxDraft) && seen[0].includes(mainDraft));
  });

  it('begin with a draft that has slips three times out of four, and end right every time', async () => {
    let hasty = 0;
    let slips = 0;
    for (const problem of problems) {
      const found = await makeRevisions(problem, protocol, examine);
      assert.deepEqual(
        found.map(({ message }) => message),
        problem.said,
      );
      const differs = problem.saidInHaste.map((text, index) => text !== problem.said[index]);
      if (differs[1] === true) {
        slips++;
        hasty += found[1]?.context.includes(problem.saidInHaste[1] ?? '') === true ? 1 : 0;
      }
    }
    // Four standard deviations of the draw.
    assert.ok(Math.abs(hasty / slips - 0.75) < 4 * Math.sqrt((0.75 * 0.25) / slips), `${hasty} of ${slips}`);
  });

  it('are made of a share of the problems, the same ones in a larger share', () => {
    const chosen = (share: number): Set<string> =>
      new Set(problems.filter((problem) => isRevised(problem, share)).map(({ uid }) => uid));
    assert.deepEqual([chosen(0).size, chosen(1).size], [0, problems.length]);
    const half = chosen(0.5);
    assert.ok(Math.abs(half.size / problems.length - 0.5) < 0.15);
    assert.ok(half.isSubsetOf(chosen(0.6)));
  });

  it('need code to be executed where the environment asks for it', async () => {
    const [problem] = problems;
    assert.ok(problem);
    await assert.rejects(makeRevisions(problem, protocol), /level_feedback.*it executes code/u);
  });
});
