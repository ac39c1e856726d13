/**
 * What the bundled team must show before reinforcement, measured on held-out problems and printed:
 * greedy accuracy, accuracy with the plan emptied, and how often the eight leaves of one problem differ in outcome.
 * Usage: node test/team/measure.ts [model folder] [problems] [weights file]
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newcombeInterval, wilsonInterval } from '../../src/credit/interval.ts';
import type { Interval } from '../../src/domain/credit.ts';
import { answerEvaluator } from '../../src/evaluate/evaluator.ts';
import { LocalPolicy } from '../../src/policy/policy.ts';
import { loadTokenizer } from '../../src/policy/tokenizer.ts';
import { EvaluatorBudget } from '../../src/replay/budget.ts';
import { growEpisodes } from '../../src/replay/episodes.ts';
import type { TreeSettings } from '../../src/replay/grow.ts';
import { findLeaves, computeReturn, type Branch, type TreeMessage } from '../../src/replay/tree.ts';
import { ModelHost } from '../../src/runtime/host.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { renderPlain } from '../../src/team/render.ts';

export interface TeamReport {
  readonly greedy: Interval | null;
  readonly greedyByLevel: Readonly<Record<string, number>>;
  readonly emptied: Interval | null;
  readonly loss: Interval | null;
  readonly sampled: Interval | null;
  /** Share of problems whose eight leaves do not all have the same outcome. */
  readonly mixed: Interval | null;
}

const CONTROL = { signal: new AbortController().signal };

/** Measures a team folder on `count` held-out problems with equal shares of the levels. */
export async function measureTeam(folder: string, count: number, weights?: string): Promise<TeamReport> {
  const host = new ModelHost({ threads: 2 });
  const model = await host.load(folder);
  const snapshot = weights === undefined ? model.snapshot : await host.loadSnapshot(weights);
  const policy = new LocalPolicy(host, await loadTokenizer(folder), snapshot);
  const protocolPath = join('media', 'team', 'protocol.json');
  const protocol = parseProtocol(await readFile(protocolPath, 'utf8'), protocolPath);
  const problems = generateSplit({ seed: 'team-report', train: 0, evaluation: count }).evaluation;
  const settings = (temperature: number, scope: string): TreeSettings => ({
    protocol,
    render: renderPlain,
    policy,
    evaluator: answerEvaluator,
    budget: new EvaluatorBudget(Infinity),
    sampling: { temperature, topP: 1, topK: 0, maxNewTokens: 48 },
    seed: 0,
    scope,
    commonRandomNumbers: true,
  });
  const branches: Branch[] = problems.map((problem) => ({ problem, message: null }));
  const greedy = await growEpisodes(settings(0, 'greedy'), branches, [1, 1], CONTROL);
  const emptied = await growEpisodes(
    settings(0, 'emptied'),
    greedy.map((message) => ({ problem: message.problem, message: emptyPlan(message) })),
    [1],
    CONTROL,
  );
  const tree = await growEpisodes(settings(1, 'leaves'), branches, [2, 4], CONTROL);
  await host.close();
  const right = successes(greedy);
  const rightEmptied = successes(emptied);
  const leaves = problems.map((_, index) =>
    tree
      .slice(2 * index, 2 * index + 2)
      .flatMap(findLeaves)
      .map((leaf) => computeReturn(leaf)),
  );
  const byLevel: Record<string, number> = {};
  for (const level of [1, 2, 3, 4]) {
    const members = greedy.filter((message) => message.problem.level === level);
    byLevel[String(level)] = successes(members) / members.length;
  }
  return {
    greedy: wilsonInterval(right, count),
    greedyByLevel: byLevel,
    emptied: wilsonInterval(rightEmptied, count),
    loss: newcombeInterval(right, count, rightEmptied, count),
    sampled: wilsonInterval(leaves.flat().filter((value) => value === 1).length, leaves.flat().length),
    mixed: wilsonInterval(leaves.filter((values) => new Set(values).size > 1).length, count),
  };
}

function emptyPlan(message: TreeMessage): TreeMessage {
  return { ...message, answer: { ...message.answer, text: '' }, children: [] };
}

const successes = (roots: readonly TreeMessage[]): number =>
  roots.flatMap(findLeaves).filter((leaf) => computeReturn(leaf) === 1).length;

export const describeInterval = (interval: Interval | null): string =>
  interval === null
    ? 'not measured'
    : `${(100 * interval.value).toFixed(1)} % [${(100 * (interval.low ?? NaN)).toFixed(1)}, ${(100 * (interval.high ?? NaN)).toFixed(1)}], n ${interval.n}`;

if (import.meta.main) {
  const [folder = join('media', 'team'), count = '512', weights] = process.argv.slice(2);
  const report = await measureTeam(folder, Number(count), weights);
  console.log(`greedy accuracy          ${describeInterval(report.greedy)}   (required: 30 to 60 %)`);
  console.log(
    `  by level               ${Object.entries(report.greedyByLevel)
      .map(([level, value]) => `${level}: ${(100 * value).toFixed(1)} %`)
      .join('   ')}`,
  );
  console.log(`greedy, plan emptied     ${describeInterval(report.emptied)}`);
  console.log(`lost without the plan    ${describeInterval(report.loss)}   (required: at least 15 points)`);
  console.log(`sampled accuracy         ${describeInterval(report.sampled)}`);
  console.log(`eight leaves differ      ${describeInterval(report.mixed)}   (required: at least 50 %)`);
}
