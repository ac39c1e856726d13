/**
 * The variance of the gradient of the bundled arithmetic team by its parameters, for trees of eight leaves, against the
 * prediction of `shape: auto`. The gradient of a step is linear in the credits. So the gradient of two trees of a
 * problem, with negated credits in one of them, is the difference of their gradients.
 * Usage: node test/team/treeVariance.ts [problems] [trees of each, even] [estimator] [weights file]
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mean } from '../../src/credit/describe.ts';
import { estimateNestedVariances } from '../../src/credit/nestedVariance.ts';
import { ratioOfMeans } from '../../src/credit/ratio.ts';
import { predictGradientVariance } from '../../src/credit/treeVariance.ts';
import { answerEvaluator } from '../../src/evaluate/evaluator.ts';
import { LocalPolicy } from '../../src/policy/policy.ts';
import { loadTokenizer } from '../../src/policy/tokenizer.ts';
import { EvaluatorBudget } from '../../src/replay/budget.ts';
import { growEpisodes } from '../../src/replay/episodes.ts';
import type { TreeMessage } from '../../src/replay/tree.ts';
import { ModelHost } from '../../src/runtime/host.ts';
import type { TrainingContext } from '../../src/runtime/train/graph/pack.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { renderPlain } from '../../src/team/render.ts';
import { getRunSampling } from '../../src/training/config/config.ts';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { measureScores } from '../../src/training/methods/autoTree.ts';
import { c3 } from '../../src/training/methods/c3.ts';
import { walkEpisode } from '../../src/training/methods/method.ts';
import { measureSums, toTwoLevelState } from '../../src/training/methods/twoLevel.ts';

const FANOUTS = [
  [2, 4],
  [4, 2],
  [8, 1],
];
/** Messages of each role whose scores are measured. */
const MESSAGES = 480;
const CONTROL = { signal: new AbortController().signal };
const EMPTY = toTwoLevelState({ squares: [], expected: [] });

const [count = '16', each = '8', estimator = 'loo', weights] = process.argv.slice(2);
const host = new ModelHost({ threads: 1 });
const folder = join('media', 'team');
const model = await host.load(folder);
const snapshot = weights === undefined ? model.snapshot : await host.loadSnapshot(weights);
await host.beginTraining(snapshot);
const policy = new LocalPolicy(host, await loadTokenizer(folder), snapshot);
const protocol = parseProtocol(await readFile(join(folder, 'protocol.json'), 'utf8'), 'protocol.json');
const problems = generateSplit({ seed: 'tree-variance', train: 0, evaluation: Number(count) }).evaluation;
const roles = protocol.occurrences.map(({ role }) => role);
const read = (...overrides: string[]) => readConfig('', 'trees', [`credit.estimator=${estimator}`, ...overrides]);
const config = read();

/** Trees of each problem, all of one fan-out. */
async function growTrees(fanout: readonly number[], scope: string): Promise<TreeMessage[][]> {
  const roots = await growEpisodes(
    {
      protocol,
      render: renderPlain,
      policy,
      evaluator: answerEvaluator,
      budget: new EvaluatorBudget(Infinity),
      sampling: getRunSampling(config),
      seed: 0,
      scope,
      commonRandomNumbers: false,
    },
    problems.map((problem) => ({ problem, message: null })),
    fanout,
    CONTROL,
  );
  const first = fanout[0] ?? 1;
  return problems.map((_, index) => roots.slice(index * first, (index + 1) * first));
}

/** The contexts of one role's gradient: the mean over its messages of credit times score. */
function toContexts(roots: readonly TreeMessage[], level: number, valueOf: (message: TreeMessage) => number | null) {
  const messages = roots
    .flatMap((root) => [...walkEpisode(root)])
    .filter((message) => message.position === level && valueOf(message) !== null);
  return messages.map((message): TrainingContext => {
    const { prompt, tokens, logprobs } = message.answer;
    const advantages = new Float32Array(tokens.length).fill(valueOf(message) ?? 0);
    const said = { tokens, behaviour: logprobs, reference: logprobs, advantages, weight: 1 / messages.length };
    return { role: roles[level] ?? '', prompt, messages: [said] };
  });
}

async function squaredNorm(contexts: readonly TrainingContext[]): Promise<number> {
  const silent = contexts.every(({ messages }) => messages.every(({ advantages }) => (advantages[0] ?? 0) === 0));
  const settings = {
    loss: 'ppo',
    learningRate: 0,
    temperature: config.sampling.temperature,
    klCoefficient: 0,
  } as const;
  return silent ? 0 : (await host.step(contexts, settings, CONTROL.signal)).gradientNorm ** 2;
}

const grown = new Map<string, TreeMessage[][][]>();
for (const fanout of FANOUTS) {
  const trees: TreeMessage[][][] = [];
  for (let number = 0; number < Number(each); number++) {
    trees.push(await growTrees(fanout, `${fanout.join('x')}:${number}`));
  }
  grown.set(fanout.join(), trees);
}
const all = [...grown.values()].flat(2);
const measuring = ['2,4', '4,2'].flatMap((name) => grown.get(name)?.flat() ?? []);
const sums = measureSums({ problems: measuring, settings: config, state: EMPTY });
const state = toTwoLevelState(sums);
const variances = estimateNestedVariances(sums);
const scores = measureScores(all.flat(), roles.length);
console.log(
  `V ${variances.map((one) => one.toFixed(4)).join(', ')}; ` +
    `S by logits ${scores.map((one) => one.toFixed(2)).join(', ')}`,
);

// |s|^2 by the parameters, of one message of each role in each tree.
const byParameters: number[] = [];
for (const level of roles.keys()) {
  const found: number[] = [];
  for (const roots of all.slice(0, MESSAGES)) {
    const [first] = toContexts(roots, level, () => 1);
    const messages = first?.messages.map((own) => ({ ...own, weight: 1 })) ?? [];
    found.push(await squaredNorm(first === undefined ? [] : [{ ...first, messages }]));
  }
  byParameters.push(mean(found));
}
console.log(`S by parameters ${byParameters.map((one) => one.toPrecision(4)).join(', ')}`);

/** The ratio of two sums over problems, with Fieller's 95 % interval. */
function describeRatio(values: readonly number[], whole: readonly number[]): string {
  const { value, low, high } = ratioOfMeans(values, whole);
  return `${value.toFixed(2)} [${(low ?? NaN).toFixed(2)}, ${(high ?? NaN).toFixed(2)}]`;
}

/** The variance of each role's gradient, by role and problem: the mean over pairs of trees. */
async function measureVariances(
  fanout: readonly number[],
  settings: ReturnType<typeof read>,
): Promise<readonly (readonly number[])[]> {
  const trees = grown.get(fanout.join()) ?? [];
  const found: number[][] = roles.map(() => []);
  for (const problem of problems.keys()) {
    const credited = trees.map((own) => {
      const roots = own[problem] ?? [];
      const { credits } = c3.credit({ settings, stage: 0, problems: [roots], measured: [], values: new Map(), state });
      return { roots, credits };
    });
    for (const level of roles.keys()) {
      const squares: number[] = [];
      for (let pair = 0; pair + 1 < credited.length; pair += 2) {
        const contexts = credited.slice(pair, pair + 2).flatMap(({ roots, credits }, turn) =>
          toContexts(roots, level, (message) => {
            const value = credits.get(message)?.value ?? null;
            return value === null || turn === 0 ? value : -value;
          }),
        );
        squares.push((await squaredNorm(contexts)) / 2);
      }
      found[level]?.push(mean(squares));
    }
  }
  return found;
}

const sumRoles = (found: readonly (readonly number[])[]): number[] =>
  problems.map((_, index) => found.reduce((sum, own) => sum + (own[index] ?? NaN), 0));

const WHOLE = [8, 1];
const twoLevel = estimator === 'loo_two_level';
const predict = (fanout: readonly number[], own: readonly number[]): number =>
  predictGradientVariance(fanout, { variances, scores: own }, twoLevel);
for (const merged of [false, true]) {
  const settings = read(`credit.merge_contexts=${String(merged)}`);
  const whole = await measureVariances(WHOLE, settings);
  for (const fanout of FANOUTS) {
    const found = fanout.join() === WHOLE.join() ? whole : await measureVariances(fanout, settings);
    const ratios = [...found, sumRoles(found)].map((own, index) =>
      describeRatio(own, [...whole, sumRoles(whole)][index] ?? []),
    );
    const predicted = [scores, byParameters].map((own) => (predict(fanout, own) / predict(WHOLE, own)).toFixed(2));
    console.log(`| [${fanout.join(', ')}] | ${merged ? 'on' : 'off'} | ${[...ratios, ...predicted].join(' | ')} |`);
  }
  console.log(`whole episodes: ${whole.map((own) => mean(own).toPrecision(3)).join(', ')}`);
}
await host.close();
