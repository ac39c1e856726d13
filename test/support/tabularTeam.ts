/**
 * Tabular teams: every role picks one of a few actions by a softmax that depends on the previous
 * action, and a table scores all actions. The gradient of the expected return, the best return and
 * all variances are known exactly. Tests compare them with the estimates of the product's sampling
 * and credit.
 */

import type { MethodState } from '../../src/domain/step.ts';
import type { Evaluator } from '../../src/evaluate/evaluator.ts';
import type { Policy, PolicyAnswer, PolicyControl, PolicyRequest } from '../../src/policy/policy.ts';
import { EvaluatorBudget } from '../../src/replay/budget.ts';
import { growEpisodes, growSpine } from '../../src/replay/episodes.ts';
import type { TreeMessage } from '../../src/replay/tree.ts';
import { Stream } from '../../src/runtime/random.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import type { Protocol } from '../../src/team/protocol.ts';
import { renderPlain } from '../../src/team/render.ts';
import { type RunConfig, getRunSampling } from '../../src/training/config/config.ts';
import { walkEpisode, type Spread } from '../../src/training/methods/method.ts';
import { getMethod } from '../../src/training/methods/methods.ts';
import { measureSpread } from '../../src/training/methods/spine.ts';
import { ENVIRONMENT, problems, NEVER, SNAPSHOT, starts } from '../unit/replay/helpers.ts';

/** Values by role, state (the previous action, 0 for the first role) and action. */
export type Table = readonly (readonly (readonly number[])[])[];

export interface TabularTeam {
  readonly protocol: Protocol;
  /** The policy before its softmax. */
  readonly logits: Table;
  /** Returns the score of the actions of all roles, in [0, 1]. */
  readonly score: (actions: readonly number[]) => number;
}

/** Returns a chain of roles, each of which sees all earlier messages. */
export function makeChainProtocol(roles: number): Protocol {
  const text = JSON.stringify(
    Array.from({ length: roles }, (_, index) => ({
      role: `r${index}`,
      prompt: `Speak ${index}.`,
      depends_on: Array.from({ length: index }, (_before, before) => `r${before}`),
      ...(index === roles - 1 && { with_answer: true }),
    })),
  );
  return parseProtocol(text, 'tabular.json');
}

export function softmax(logits: readonly number[]): number[] {
  const weights = logits.map(Math.exp);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

const LETTERS = 'abcdefgh';
const word = (actions: readonly number[]): string => `#${actions.map((action) => LETTERS[action] ?? '').join('')}`;
export const parseActions = (text: string): number[] => Array.from(text.slice(1), (letter) => LETTERS.indexOf(letter));

/** Returns the actions so far from the messages in a context. The last message has all of them. */
function before(context: string): number[] {
  const words = context.match(/#[a-h]+/gu) ?? [];
  return parseActions(words.reduce((longest, one) => (one.length > longest.length ? one : longest), '#'));
}

export class TabularPolicy implements Policy {
  readonly snapshot = SNAPSHOT;
  readonly environment = ENVIRONMENT;
  readonly seeded = true;
  private readonly logits: Table;

  constructor(logits: Table) {
    this.logits = logits;
  }

  answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]> {
    const answers = requests.map((request) => this.say(request));
    for (const [index, answer] of answers.entries()) {
      control.onAnswer?.(index, answer);
    }
    return Promise.resolve(answers);
  }

  typed(): Promise<PolicyAnswer> {
    return Promise.reject(new Error('Nothing is typed here.'));
  }

  private say({ context, streamKey }: PolicyRequest): PolicyAnswer {
    const said = before(context);
    const chances = softmax(this.logits[said.length]?.[said.at(-1) ?? 0] ?? []);
    let left = new Stream(streamKey).uniform(0);
    const drawn = chances.findIndex((chance) => (left -= chance) < 0);
    const action = drawn < 0 ? chances.length - 1 : drawn;
    return {
      text: word([...said, action]),
      prompt: new Int32Array(1),
      tokens: Int32Array.of(action),
      logprobs: Float32Array.of(Math.log(chances[action] ?? 0)),
      finish: 'end',
      reusedTokens: 0,
    };
  }
}

/** Scores the actions in the last message with the table of the team. */
export const tableEvaluator = ({ score }: Pick<TabularTeam, 'score'>): Evaluator => ({
  name: 'table',
  evaluate: (_, text) => Promise.resolve({ score: score(parseActions(text)), rule: 'table' }),
});

/** Returns zeros in the shape of a table. */
export const zeros = (table: Table): number[][][] =>
  table.map((states) => states.map((actions) => actions.map(() => 0)));

/** Returns every sequence of actions with its probability. */
export function outcomes({
  logits,
}: Pick<TabularTeam, 'logits'>): { readonly actions: number[]; readonly chance: number }[] {
  return logits.reduce<{ actions: number[]; chance: number }[]>(
    (all, states) =>
      all.flatMap(({ actions, chance }) =>
        softmax(states[actions.at(-1) ?? 0] ?? []).map((own, action) => ({
          actions: [...actions, action],
          chance: chance * own,
        })),
      ),
    [{ actions: [], chance: 1 }],
  );
}

export const expectedReturn = (team: TabularTeam): number =>
  outcomes(team).reduce((sum, { actions, chance }) => sum + chance * team.score(actions), 0);

/** Returns the gradient of the expected return by the logits. */
export function exactGradient(team: TabularTeam): number[][][] {
  const gradient = zeros(team.logits);
  for (const { actions, chance } of outcomes(team)) {
    addScore(gradient, team.logits, actions, chance * team.score(actions));
  }
  return gradient;
}

/** Adds `times` the gradient of the log-probability of a whole episode. */
function addScore(gradient: number[][][], logits: Table, actions: readonly number[], times: number): void {
  actions.forEach((_, position) => addMessage(gradient, logits, actions.slice(0, position + 1), times));
}

/** Adds `times` the gradient of the log-probability of the last message. */
function addMessage(gradient: number[][][], logits: Table, actions: readonly number[], times: number): void {
  const position = actions.length - 1;
  const state = actions.at(-2) ?? 0;
  const chances = softmax(logits[position]?.[state] ?? []);
  const row = gradient[position]?.[state] ?? [];
  for (const [action, chance] of chances.entries()) {
    row[action] = (row[action] ?? 0) + times * ((action === actions.at(-1) ? 1 : 0) - chance);
  }
}

export interface Sampled {
  /**
   * For each role, the mean of credit times gradient of the log-probability over its credited
   * messages.
   */
  readonly gradient: number[][][];
  readonly spread: Spread;
  /** Number of requested evaluator calls. */
  readonly calls: number;
  /** The state of the method after the step, if it has one. */
  readonly state: MethodState;
}

const ALL = problems(64);

/** Samples and credits the messages of one training step as a run does. */
export async function sample(
  team: TabularTeam,
  config: RunConfig,
  {
    seed,
    iteration,
    count,
    spread,
    state: before,
  }: { seed: number; iteration: number; count: number; spread: Spread | null; state?: MethodState | undefined },
): Promise<Sampled> {
  const method = getMethod(config.method);
  const { protocol, logits, score } = team;
  const known = before ?? method.state?.(config)?.initial(config) ?? { json: null, tensors: {} };
  const earlier = { spread: config.shape === 'spine_rho' ? spread : null, state: known };
  const [rollout] = method.plan(config, protocol, 0, earlier);
  const budget = new EvaluatorBudget(Infinity);
  const roots = await (rollout?.shape === 'spine' ? growSpine : growEpisodes)(
    {
      protocol,
      render: renderPlain,
      policy: new TabularPolicy(logits),
      evaluator: tableEvaluator({ score }),
      budget,
      sampling: getRunSampling(config),
      seed,
      scope: `iteration:${iteration}`,
      commonRandomNumbers: rollout?.commonRandomNumbers ?? false,
      ...(rollout?.unique === true && { unique: true }),
    },
    starts(ALL.slice(0, count)),
    rollout?.fanout ?? [],
    NEVER,
  );
  const perProblem = rollout?.fanout[0] ?? 1;
  const { credits, state = known } = method.credit({
    settings: config,
    stage: 0,
    problems: Array.from({ length: count }, (_, index) => roots.slice(index * perProblem, (index + 1) * perProblem)),
    measured: [],
    values: new Map(),
    state: known,
    ...(rollout?.choice !== undefined && { choice: rollout.choice }),
  });
  const gradient = zeros(logits);
  const learned = logits.map(() => 0);
  const messages: { bucket: number; position: number; credit: number | null }[] = [];
  const buckets = new Map<TreeMessage | null, number>();
  for (const [index, message] of roots.flatMap((root) => [...walkEpisode(root)]).entries()) {
    const credit = credits.get(message);
    if (credit !== undefined) {
      addMessage(gradient, logits, parseActions(message.answer.text), credit.value);
      learned[message.position] = (learned[message.position] ?? 0) + 1;
    }
    const parent = message.parent;
    const root = parent === null ? Math.floor(roots.indexOf(message) / perProblem) : -1;
    const bucket = parent === null ? -1 - root : (buckets.get(parent) ?? index);
    if (parent !== null) {
      buckets.set(parent, bucket);
    }
    messages.push({ bucket, position: message.position, credit: credit?.value ?? null });
  }
  return {
    gradient: gradient.map((states, position) =>
      states.map((actions) => actions.map((value) => value / Math.max(1, learned[position] ?? 0))),
    ),
    spread: measureSpread(messages, logits.length),
    calls: budget.calls,
    state,
  };
}

/**
 * Returns the expected return after some steps of Adam, each on the samples of one training step.
 */
export async function learned(
  team: TabularTeam,
  config: RunConfig,
  {
    seed,
    steps,
    count,
    rate,
    frozen = [],
  }: { seed: number; steps: number; count: number; rate: number; frozen?: readonly number[] },
): Promise<number> {
  const logits = team.logits.map((states) => states.map((actions) => [...actions]));
  const [first, second] = [zeros(logits), zeros(logits)];
  let [spread, state]: [Spread | null, MethodState | undefined] = [null, undefined];
  for (let iteration = 1; iteration <= steps; iteration++) {
    const found = await sample({ ...team, logits }, config, { seed, iteration, count, spread, state });
    ({ spread, state } = found);
    for (const [t, states] of logits.entries()) {
      if (frozen.includes(t)) {
        continue;
      }
      for (const [s, actions] of states.entries()) {
        for (const a of actions.keys()) {
          const slope = found.gradient[t]?.[s]?.[a] ?? 0;
          const [m, v] = [first[t]?.[s], second[t]?.[s]];
          if (m === undefined || v === undefined) {
            continue;
          }
          m[a] = 0.9 * (m[a] ?? 0) + 0.1 * slope;
          v[a] = 0.95 * (v[a] ?? 0) + 0.05 * slope ** 2;
          const step = m[a] / (1 - 0.9 ** iteration) / (Math.sqrt(v[a] / (1 - 0.95 ** iteration)) + 1e-8);
          actions[a] = (actions[a] ?? 0) + rate * step;
        }
      }
    }
  }
  return expectedReturn({ ...team, logits });
}
