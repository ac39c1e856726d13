/** A model as the expert of expert_edits: what it reads, the edits in its answer, and what happens where it fails. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SaidEvent } from '../../../src/domain/episode.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import type { Ask, EnvironmentOutcome } from '../../../src/environment/kind.ts';
import { findEnvironmentKind } from '../../../src/environment/kinds.ts';
import { readExpertEdits } from '../../../src/environment/kinds/expertAnswer.ts';
import { makeLadderEvaluator } from '../../../src/evaluate/evaluator.ts';
import { createTeamPolicy } from '../../../src/policy/teamPolicy.ts';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { findLeaves, toLog } from '../../../src/replay/tree.ts';
import { CancelledError, C3Error } from '../../../src/shared/errors.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { findPoliciesFault } from '../../../src/training/policies.ts';
import { problems, NEVER, SAMPLING, ScriptedPolicy, starts } from '../replay/helpers.ts';

const [ONE] = problems(1);
const INSTANCE: Problem = {
  ...(ONE as Problem),
  question: 'def f(n):\n    """Twice n."""',
  tests: { tests: ['assert f(21) == 42'], test: '', entryPoint: 'f', setup: '', prefix: '' },
};
const AUX = 'def aux(n):\n    return n';
const MAIN = 'def f(n):\n    h = aux(n)\n    return h';
const EDITS = '{"aux": "perfect", "main": "Return 2 * h."}';

async function said(ask: Ask | undefined, texts: readonly string[] = [AUX, MAIN]): Promise<EnvironmentOutcome> {
  const messages = texts.map((text, index): SaidEvent => {
    const role = index === texts.length - 1 ? 'main' : 'aux';
    return { kind: 'decision', position: index, role, text };
  });
  const kind = findEnvironmentKind('expert_edits') ?? assert.fail();
  return kind.run({
    problem: INSTANCE,
    log: messages,
    messages,
    options: { expert: 'policy' },
    uniform: () => 0,
    ...(ask !== undefined && { ask }),
  });
}

describe('the edits in an answer', () => {
  it('are the last JSON object with a text for each function', () => {
    const found = { aux: 'perfect', main: 'Return 2 * h.' };
    assert.deepEqual(readExpertEdits(EDITS, true), found);
    assert.deepEqual(
      readExpertEdits(`First {"aux": "a", "main": "b"}, then\n\`\`\`json\n${EDITS}\n\`\`\` {"aux": 1}`, true),
      found,
    );
    assert.deepEqual(readExpertEdits(`The set {1, 2} and {"edits": ${EDITS}}`, true), found);
    assert.deepEqual(readExpertEdits('{"main": "s = \\"}\\" {", "aux": " x "}', true), { aux: 'x', main: 's = "}" {' });
    assert.deepEqual(readExpertEdits('{"main": "shorter"}', false), { aux: '', main: 'shorter' });
  });

  it('are none where a function has no text, or nothing can be parsed', () => {
    for (const answer of [
      '',
      'perfect',
      '{"main": "x"}',
      '{"aux": "", "main": "x"}',
      '{"aux": ["x"], "main": "x"}',
      '{"aux',
    ]) {
      assert.equal(readExpertEdits(answer, true), null, answer);
    }
    // Bounded work on braces that never close.
    assert.equal(readExpertEdits('{'.repeat(200_000), true), null);
  });
});

describe('a model as the expert', () => {
  it('reads problem and program without any test, and each role reads its edits', async () => {
    const prompts: string[] = [];
    const outcome = await said(({ system, user }) => {
      prompts.push(`${system}\n${user}`);
      return Promise.resolve({ text: EDITS });
    });
    assert.equal(prompts.length, 1);
    assert.ok(prompts[0]?.includes(`Problem:\n${INSTANCE.question}\n\nProgram:\n${AUX}\n\n\n${MAIN}`));
    assert.doesNotMatch(prompts[0] ?? '', /assert|42/u);
    assert.match(outcome.text, /To aux:\nEdits that an expert proposes:\nperfect\nRevise your function aux\./u);
    assert.match(outcome.text, /To main:\nEdits that an expert proposes:\nReturn 2 \* h\.\nRevise your function f\./u);
    assert.equal(outcome.derived, false);
  });

  it('is asked three times, and proposes nothing with a note after that', async () => {
    const attempts: number[] = [];
    const late = await said((_, attempt) => {
      attempts.push(attempt);
      return Promise.resolve(attempt === 0 ? { failed: 'No weights.' } : { text: attempt === 1 ? 'Well.' : EDITS });
    });
    assert.deepEqual(attempts, [0, 1, 2]);
    assert.match(late.text, /Return 2 \* h/u);
    const failed = await said(() => Promise.resolve({ failed: 'The context is too long.' }));
    assert.match(
      failed.text,
      /To main:\nThe expert proposes no edits: it failed \(The context is too long\)\.\nRevise your function f\./u,
    );
    assert.match(JSON.stringify(failed.json), /"edits":null,"note":"it failed/u);
    assert.match((await said(() => Promise.resolve({ text: '' }))).text, /no edits: its answer held no JSON object/u);
    assert.match((await said(undefined)).text, /no edits: nobody can be asked here/u);
  });

  it('reviews the function of a single agent alone', async () => {
    let asked = '';
    const { text } = await said(
      ({ system, user }) => {
        asked = system + user;
        return Promise.resolve({ text: '{"main": "Return 2 * n."}' });
      },
      ['def f(n):\n    return n'],
    );
    assert.doesNotMatch(asked, /aux/u);
    assert.equal(text, 'Edits that an expert proposes:\nReturn 2 * n.\nRevise your function f. Write the code only.');
  });
});

const protocolOf = (expert: string): Protocol =>
  parseProtocol(
    JSON.stringify({
      name: 'pair',
      roles: ['aux', 'main'].map((role) => ({ role, prompt: `Write ${role}.` })),
      scored: ['main'],
      rounds: { turns: 2, environment: { name: 'expert_edits', expert }, history: { memory: 'full' } },
    }),
    'pair.json',
  );

describe('an episode with a model as the expert', () => {
  const settings = (answers: readonly string[]): Parameters<typeof growEpisodes>[0] => {
    const own = new ScriptedPolicy(({ role, context }) =>
      role === 'aux' ? AUX : context.includes('Return 2 * h.') ? MAIN.replace('return h', 'return 2 * h') : MAIN,
    );
    const unused = { functions: () => Promise.reject(new Error('Nothing is executed.')) };
    const script = answers.map((answer, index) => ({ answer, turn: index + 1 }));
    return {
      protocol: protocolOf('policy'),
      render: renderPlain,
      policy: createTeamPolicy(own, { expert: { kind: 'scripted', answers: script } }, null),
      evaluator: {
        ...makeLadderEvaluator(unused, 'ladder', 'checked'),
        evaluate: (_, text) => Promise.resolve({ score: text.includes('2 * h') ? 1 : 0, rule: 'seen' }),
      },
      budget: new EvaluatorBudget(100),
      sampling: SAMPLING,
      seed: 0,
      scope: 'evaluation:greedy',
      commonRandomNumbers: false,
    };
  };
  const scores = async (answers: readonly string[]): Promise<unknown[]> => {
    const roots = await growEpisodes(settings(answers), starts([INSTANCE]), [1, 2], NEVER);
    const leaves = roots.flatMap(findLeaves);
    return leaves.map((message) => {
      const events = toLog(settings(answers).protocol, { message }).filter((event) => event.kind === 'environment');
      return [message.score?.score, ...events.map(({ derived, text }) => [derived, /no edits: it failed/u.test(text)])];
    });
  };

  it('hands its edits to the next turn of every branch, and is recorded as it came', async () => {
    const edited = [1, [false, false]];
    assert.deepEqual(await scores([EDITS]), [edited, edited]);
  });

  it('goes on without edits where the expert fails', async () => {
    // The table has no row for a second attempt, and the first is no JSON.
    const unedited = [0, [false, true]];
    assert.deepEqual(await scores(['Well.']), [unedited, unedited]);
  });

  it('ends where it is cancelled', async () => {
    const stopped = new AbortController();
    const cancelling = settings([EDITS]);
    const { policy } = cancelling;
    await assert.rejects(
      growEpisodes(
        {
          ...cancelling,
          policy: {
            snapshot: policy.snapshot,
            environment: policy.environment,
            seeded: policy.seeded,
            typed: (...given) => policy.typed(...given),
            answer: (requests, control) => {
              if (requests.some(({ role }) => role === 'expert')) {
                stopped.abort();
                return Promise.reject(new CancelledError());
              }
              return policy.answer(requests, control);
            },
          },
        },
        starts([INSTANCE]),
        [1, 1],
        { signal: stopped.signal },
      ),
      CancelledError,
    );
  });
});

describe('the role expert of policies', () => {
  const of = (expert: string, policies: Parameters<typeof findPoliciesFault>[0]['policies']): string | undefined =>
    findPoliciesFault({ policies, steps: 1, task: { name: 'arithmetic' } }, protocolOf(expert))?.sentence;

  it('is needed where a model is the expert, and unknown elsewhere', () => {
    const policies = { expert: { kind: 'model', model: '../coder' } } as const;
    assert.equal(of('policy', policies), undefined);
    assert.match(of('policy', {}) ?? '', /asks the role expert, which has no policy; add expert: \{model: FOLDER\}/u);
    assert.match(of('rules', policies) ?? '', /has no such role/u);
    assert.equal(of('rules', {}), undefined);
    assert.throws(() => protocolOf('gpt'), C3Error);
  });
});
