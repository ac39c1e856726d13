/** Contexts that do not fit into a model: refused by role and problem, never cut and never scored. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EVALUATION_ROUNDS } from '../../../src/domain/evaluation.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import { loadTokenizer, type LoadedTokenizer } from '../../../src/policy/tokenizer.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { renderContext, renderPlain } from '../../../src/team/render.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { checkContexts, listRunProblems } from '../../../src/training/room.ts';
import { teamFolder, tinyWorld } from './tinyRun.ts';
import { PAIR, sums } from './tinyTeam.ts';

/** Of the tiny team; its actor may say 6 tokens. */
const POSITIONS = 256;
const ROOM = POSITIONS - 6;

let team: Awaited<ReturnType<typeof teamFolder>>;
let tokenizer: LoadedTokenizer;
before(async () => {
  team = await teamFolder();
  tokenizer = await loadTokenizer(team.folder);
});
after(() => team.remove());

/** A problem whose actor's context has this many tokens where the reasoner says nothing: a digit is a token. */
function problemOf(tokens: number, uid = 'long'): Problem {
  const made = (digits: number): Problem => {
    const question = `Box ${'7'.repeat(digits)}`;
    return { uid, uidSha: uidSha(question), question, answer: '3', source: 'room', level: null };
  };
  const length = ({ question }: Problem): number =>
    tokenizer.encode(renderPlain(renderContext(PAIR, 1, question, new Map([[0, '']])))).length;
  const problem = made(tokens - length(made(1)) + 1);
  assert.equal(length(problem), tokens);
  return problem;
}
const says =
  (tokens: number, role: string, uid: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof C3Error && error.kind === 'input', String(error));
    assert.equal(error.message.split('\n').length, 1);
    assert.match(
      error.message,
      new RegExp(
        `^The context of the ${role} for the problem ${uid} has ${tokens} tokens and its answer may have 6, together more than the model's 256 positions; lower max_new_tokens`,
      ),
    );
    return true;
  };

describe('before a run', () => {
  const check = async (...problems: readonly Problem[]): Promise<void> => {
    await checkContexts(
      {
        protocol: PAIR,
        render: renderPlain,
        tokenizer,
        sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 1000 },
        maxPositions: POSITIONS,
      },
      problems,
    );
  };

  it('a context that can never fit is refused, and one that just fits is not', async () => {
    await check(...sums(4), problemOf(ROOM));
    await assert.rejects(check(...sums(4), problemOf(ROOM + 1, 'x\ny')), says(ROOM + 1, 'actor', '"x\\\\ny"'));
  });

  it('every problem is looked at that the run may ask about, and no other', () => {
    const config = readConfig('steps: 2\ninstances_per_step: 2\n', 'x');
    const [train, evaluation] = [sums(6), sums(3, 100)];
    assert.deepEqual(
      listRunProblems(config, { train, evaluation }).map(({ uid }) => uid),
      ['sum-100', 'sum-101', 'sum-102', 'sum-0', 'sum-1', 'sum-2', 'sum-3'],
    );
  });
});

describe('in a run', () => {
  const failing = { overrides: ['evaluation.batch=1', 'instances_per_step=2'], evaluation: sums(2, 100) };

  it('a context that became too long ends it with role and problem, and nothing of the step is stored', async (t) => {
    const { start, store } = await tinyWorld(t, team.folder);
    // With what the reasoner says it no longer fits.
    await assert.rejects(
      start({ ...failing, train: [...sums(1), problemOf(ROOM)] }),
      (error) =>
        error instanceof C3Error &&
        /^The context of the actor for the problem "long" has 2[5-9]\d tokens/.test(error.message),
    );
    assert.equal(store.run('run-1').status, 'failed');
    assert.deepEqual(
      [store.countEpisodes({ run: 'run-1', phase: 'train', iteration: 1 }), store.countSteps('run-1')],
      [0, 0],
    );
    assert.equal(store.countBuckets({ run: 'run-1' }), 0);
  });

  it('in an evaluation it is no score either: the episodes before it stay, its own is not there', async (t) => {
    const { start, store } = await tinyWorld(t, team.folder);
    await assert.rejects(
      start({ ...failing, evaluation: [...sums(1, 100), problemOf(ROOM), ...sums(1, 101)] }),
      /the actor for the problem "long"/,
    );
    const episodes = store.episodes({
      run: 'run-1',
      phase: 'evaluate',
      iteration: EVALUATION_ROUNDS[0].iteration,
      offset: 0,
      limit: 10,
    });
    assert.deepEqual(
      episodes.map(({ problem }) => store.problem(problem).uid),
      ['sum-100'],
    );
  });
});
