/**
 * What the bundled team of the functions task does in two turns with level_feedback between them, measured in the real
 * sandbox on held-out problems and printed: rewards and solved shares of each turn, greedy and sampled, and what the
 * first turn loses without the helper.
 * Usage: node test/team/measureFunctions.ts [model folder] [problems] [weights file]
 */

import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { newcombeInterval, studentInterval, wilsonInterval } from '../../src/credit/interval.ts';
import type { Interval } from '../../src/domain/credit.ts';
import { findBundledProtocol, findBundledTeam, SANDBOX_PLACES } from '../../src/engine/places.ts';
import { makeLadderEvaluator, selectScoredText, type Evaluator } from '../../src/evaluate/evaluator.ts';
import { parseLadders } from '../../src/evaluate/ladder.ts';
import { PythonGrader } from '../../src/evaluate/python/grader.ts';
import { LocalPolicy } from '../../src/policy/policy.ts';
import { loadTokenizer } from '../../src/policy/tokenizer.ts';
import { EvaluatorBudget } from '../../src/replay/budget.ts';
import { growEpisodes } from '../../src/replay/episodes.ts';
import { findLeaves, findScores, type TreeMessage } from '../../src/replay/tree.ts';
import { ModelHost } from '../../src/runtime/host.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { renderPlain } from '../../src/team/render.ts';
import { describeInterval } from './measure.ts';

const TURNS = 2;
const CONTROL = { signal: new AbortController().signal };

/** What a program got. */
interface Reward {
  /** Share of all points. */
  readonly total: number;
  /** Share of the tests that it passes. */
  readonly tests: number;
}

/** Every episode's rewards, by turn. */
type Episodes = readonly (readonly Reward[])[];

const mean = (values: readonly number[]): Interval | null => studentInterval(values);
const share = (values: readonly boolean[]): Interval | null =>
  wilsonInterval(values.filter(Boolean).length, values.length);

async function rewardOf(evaluator: Evaluator, message: TreeMessage, messages: readonly string[]): Promise<Reward> {
  const said = messages.map((text, index) => ({ role: index === 0 ? 'aux' : 'main', text }));
  const { score, rule } = await evaluator.evaluate(message.problem, selectScoredText(evaluator, message.problem, said));
  return rewardIn(score, rule);
}

function rewardIn(score: number | null, rule: string): Reward {
  const [ladder] = parseLadders(rule);
  if (score === null || ladder === undefined) {
    throw new Error(`A program was not scored: ${rule}`);
  }
  return { total: score, tests: ladder.tests };
}

const rewardsOf = (roots: readonly TreeMessage[]): Episodes =>
  roots.flatMap(findLeaves).map((leaf) =>
    findScores(leaf)
      .toReversed()
      .map(({ score, rule }) => rewardIn(score, rule)),
  );

function print(what: string, episodes: Episodes): void {
  for (let turn = 0; turn < TURNS; turn++) {
    const rewards = episodes.map((own) => own[turn] ?? { total: NaN, tests: NaN });
    console.log(`${what}, turn ${turn + 1}`);
    console.log(`  total reward     ${describeInterval(mean(rewards.map(({ total }) => total)))}`);
    console.log(`  all points       ${describeInterval(share(rewards.map(({ total }) => total === 1)))}`);
    console.log(`  all tests passed ${describeInterval(share(rewards.map(({ tests }) => tests === 1)))}`);
  }
  const gain = episodes.map((own) => (own[1]?.total ?? NaN) - (own[0]?.total ?? NaN));
  console.log(`  turn 2 less turn 1, total reward, paired: ${describeInterval(mean(gain))}`);
}

const [folder = findBundledTeam('functions'), count = '400', weights] = process.argv.slice(2);
const host = new ModelHost({ threads: 2 });
const grader = new PythonGrader({ places: SANDBOX_PLACES, lanes: availableParallelism() });
try {
  const model = await host.load(folder);
  const snapshot = weights === undefined ? model.snapshot : await host.loadSnapshot(weights);
  const path = findBundledProtocol('functions', 2);
  const evaluator = makeLadderEvaluator(grader, 'ladder', 'checked');
  const settings = {
    protocol: parseProtocol(await readFile(path, 'utf8'), path, { turns: TURNS }),
    render: renderPlain,
    policy: new LocalPolicy(host, await loadTokenizer(folder), snapshot),
    evaluator,
    budget: new EvaluatorBudget(Infinity),
    seed: 0,
    commonRandomNumbers: false,
  };
  const { evaluation } = generateSplit({
    task: 'functions',
    seed: 'functions-team-report',
    train: 0,
    evaluation: Number(count),
    levels: [1, 1, 1, 1],
  });
  const branches = evaluation.map((problem) => ({ problem, message: null }));
  for (const [what, temperature] of [
    ['greedy', 0],
    ['sampled', 1],
  ] as const) {
    const sampling = { temperature, topP: 1, topK: 0, maxNewTokens: 48 };
    const roots = await growEpisodes({ ...settings, sampling, scope: what }, branches, [1, 1, 1, 1], CONTROL);
    const episodes = rewardsOf(roots);
    print(what, episodes);
    if (temperature === 0) {
      const solved = (rewards: readonly Reward[]): number => rewards.filter(({ tests }) => tests === 1).length;
      const alone = await Promise.all(
        roots.map((message) => rewardOf(evaluator, message, ['', message.children[0]?.answer.text ?? ''])),
      );
      const first = episodes.flatMap((own) => own[0] ?? []);
      console.log(`  passed without the helper ${describeInterval(wilsonInterval(solved(alone), alone.length))}`);
      const lost = newcombeInterval(solved(first), first.length, solved(alone), alone.length);
      console.log(`  lost without the helper   ${describeInterval(lost)}`);
    }
  }
} finally {
  grader.close();
  await host.close();
}
