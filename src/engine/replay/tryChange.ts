/** Trying a change of a team: both variants on the same problems and the same random numbers, to the end. */
import { bettingInterval } from '../../credit/betting.ts';
import { openStream, uniform } from '../../credit/counter.ts';
import { mean } from '../../credit/describe.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { Policy } from '../../policy/policy.ts';
import { withRolePolicies } from '../../policy/teamPolicy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { grow } from '../../replay/episodes.ts';
import { callsOf, leavesOf, returnOf, type TreeNode } from '../../replay/tree.ts';
import { isLost } from '../../shared/credit/returns.ts';
import { asksServers } from '../../domain/asksServers.ts';
import { LAST_SNAPSHOT } from '../../domain/continuation.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { Instance, Sampling } from '../../domain/records.ts';
import {
  trialSentence,
  type PolicyChange,
  type TeamChange,
  type Trial,
  type TrialCase,
  type TrialEpisode,
  type TrialProblems,
} from '../../domain/trial.ts';
import type { Renderer } from '../../team/render.ts';
import { roleNamed, type Protocol } from '../../team/protocol.ts';
import { scoredAtMost } from '../../team/rounds.ts';
import type { Team } from '../models/roles.ts';
import { snapshotNamed } from '../session/continuation.ts';
import type { RunSession } from '../session/session.ts';
import { evaluatedEpisodes } from './blameRun.ts';

/** Pairs that are sampled together. */
const BLOCK = 16;
/** Pairs that flipped and are kept, of each kind. */
const MOST_CASES = 5;

export interface TrialRequest {
  readonly run: string;
  readonly change: TeamChange;
  readonly problems: TrialProblems;
  /** Evaluator calls of both sides together. */
  readonly budget: number;
}

export interface TrialControl {
  readonly signal: AbortSignal;
  /** After every block: evaluator calls that were spent. */
  readonly onProgress: (evaluatorCalls: number, budget: number) => void;
}

/** One of the two teams. */
interface Variant {
  readonly protocol: Protocol;
  readonly policy: Policy;
  readonly sampling: Sampling;
}

/** What both teams share. */
interface Ground {
  readonly run: string;
  readonly instances: readonly Instance[];
  readonly evaluator: Evaluator;
  readonly render: Renderer;
  readonly seed: number;
  /** By position. */
  readonly roles: readonly string[];
  readonly bound: number;
  /** The range of a return, and the highest one. */
  readonly span: number;
  readonly most: number;
}

/**
 * Tries a change on the held-out problems of a run. Problems are drawn with equal chances, each draw is one pair of
 * episodes on the same random numbers, so that the mean difference over the problems has an interval that holds at
 * every look (betting.ts); the trial ends once that excludes 0, or at the budget. Nothing is stored.
 * @throws C3Error('input') for a run that servers answer or that was recorded elsewhere, an unknown role or snapshot,
 *   or a budget that does not reach one pair; CancelledError
 */
export async function tryChange(
  session: RunSession,
  { change, problems, budget }: Omit<TrialRequest, 'run'>,
  control: TrialControl,
): Promise<Trial> {
  const { store, run, recipe, protocol, signal, rules } = session;
  if (session.isImported || asksServers(store.runConfig(run))) {
    throw new C3Error(
      'input',
      `Run ${run} ${session.isImported ? 'was recorded elsewhere' : 'asks servers'}; a change is tried on runs whose models are on this machine. Choose another run.`,
    );
  }
  const changed = changedProtocol(protocol, change);
  for (const role of Object.keys(change.roles)) {
    roleNamed(protocol, role);
  }
  const { episodes, scale } = evaluatedEpisodes(store, run);
  const chosen = episodes.filter(({ return: value }) => problems === 'all' || (value !== null && isLost(value, scale)));
  const instances = [...new Set(chosen.map(({ instance }) => instance))].map((uid) => store.instance(uid));
  if (instances.length === 0) {
    throw new C3Error('input', `Run ${run} lost no episode of its last evaluation; try the change on all problems.`);
  }
  const began = performance.now();
  await using holds = new Holds();
  const take = async (policy: PolicyChange): Promise<Team> =>
    holds.take(
      session.team(
        'snapshot' in policy ? snapshotNamed(store, run, policy.snapshot) : await session.otherModel(policy.model),
      ),
    );
  const evaluator = session.evaluator(null);
  const before = await take({ snapshot: LAST_SNAPSHOT });
  let { policy } = change.policy === null ? before : await take(change.policy);
  for (const [role, other] of Object.entries(change.roles)) {
    policy = withRolePolicies(policy, new Map([[role, (await take(other)).policy]]));
  }
  const { sampling } = rules;
  const found = await comparePairs(
    {
      run,
      instances,
      evaluator,
      render: rules.render,
      seed: recipe.config.seed,
      roles: protocol.occurrences.map(({ role }) => role),
      bound: recipe.config.credit.return_clip,
      span: scale.high - scale.low,
      most: scale.high,
    },
    [
      { protocol, policy: before.policy, sampling },
      { protocol: changed, policy, sampling: { ...sampling, ...change.sampling } },
    ],
    budget,
    { ...control, signal },
  );
  const trial = { ...found, seconds: (performance.now() - began) / 1000 };
  return { ...trial, sentence: trialSentence(trial) };
}

/**
 * A protocol with other prompts, and without the roles' own caps of tokens where the change has one.
 * @throws C3Error('input') for a role that it has not, or a prompt that is blank or has an unknown placeholder
 */
function changedProtocol(protocol: Protocol, { prompts, sampling }: TeamChange): Protocol {
  for (const [role, prompt] of Object.entries(prompts)) {
    roleNamed(protocol, role);
    if (prompt.trim() === '') {
      throw new C3Error('input', `The new prompt of the role ${role} is blank; write what the role is to do.`);
    }
    const unknown = unknownPlaceholder(protocol, role, prompt);
    if (unknown !== null) {
      throw new C3Error(
        'input',
        `The new prompt of the role ${role} has {${unknown}}, for which nothing is put in; use {question}, {context} or {ROLE_output}, or double the braces.`,
      );
    }
  }
  const caps = sampling.maxNewTokens === undefined ? {} : { maxNewTokens: null };
  return {
    ...protocol,
    roles: protocol.roles.map((role) => ({ ...role, ...caps, prompt: prompts[role.name] ?? role.prompt })),
  };
}

/** A placeholder that neither the protocol nor the role's own prompt has; null for none. */
function unknownPlaceholder(protocol: Protocol, role: string, prompt: string): string | null {
  const namesIn = (text: string): string[] =>
    [...text.replaceAll(/\{\{|\}\}/gu, ' ').matchAll(/\{([A-Za-z_]\w*)\}/gu)].map(([, name = '']) => name);
  const known = new Set([
    'question',
    'context',
    ...protocol.roles.flatMap(({ name }) => [name, `${name}_output`]),
    ...namesIn(roleNamed(protocol, role).prompt),
  ]);
  return namesIn(prompt).find((name) => !known.has(name)) ?? null;
}

/** Samples pairs until the interval of their mean excludes 0, or the budget is spent. */
async function comparePairs(
  ground: Ground,
  variants: readonly [Variant, Variant],
  budget: number,
  control: TrialControl,
): Promise<Omit<Trial, 'sentence' | 'seconds'>> {
  const { run, instances, span, most } = ground;
  const perPair = variants.reduce((sum, { protocol }) => sum + scoredAtMost(protocol), 0);
  if (budget < perPair) {
    throw new C3Error('input', `One pair takes up to ${String(perPair)} evaluator calls; give at least so many.`);
  }
  const differences: number[] = [];
  const [won, lost]: [TrialCase[], TrialCase[]] = [[], []];
  const tokens = { before: 0, after: 0 };
  let [spent, masked] = [0, 0];
  for (let block = 0; budget - spent >= perPair; block++) {
    const count = Math.min(BLOCK, Math.floor((budget - spent) / perPair));
    const drawn = drawProblems(instances, ground.seed, block, count);
    for (const [repeat, members] of drawn.entries()) {
      const scope = `try:${String(block)}:${String(repeat)}`;
      const sides: TreeNode[][] = [];
      for (const variant of variants) {
        sides.push(await growAll(ground, variant, members, scope, perPair, control.signal));
      }
      const [before = [], after = []] = sides;
      spent += [...before, ...after].reduce((sum, root) => sum + callsOf(root), 0);
      tokens.before += before.reduce((sum, root) => sum + tokensOf(root), 0);
      tokens.after += after.reduce((sum, root) => sum + tokensOf(root), 0);
      for (const [at, instance] of members.entries()) {
        const [first, second] = [episodeOf(before[at], ground), episodeOf(after[at], ground)];
        if (first === null || second === null) {
          masked++;
          continue;
        }
        const difference = second.return - first.return;
        differences.push(difference);
        const cases = difference > 0 ? won : lost;
        if (difference !== 0 && cases.length < MOST_CASES) {
          cases.push({ question: instance.question, before: first, after: second });
        }
      }
    }
    control.onProgress(spent, budget);
    const { low, high } = intervalOf(differences, span);
    if (low > 0 || high < 0) {
      break;
    }
  }
  return {
    run,
    contexts: instances.length,
    difference: {
      value: differences.length === 0 ? 0 : mean(differences),
      ...intervalOf(differences, span),
      n: differences.length,
    },
    better: differences.filter((one) => one > 0).length,
    worse: differences.filter((one) => one < 0).length,
    same: differences.filter((one) => one === 0).length,
    masked,
    cases: [...won, ...lost],
    evaluatorCalls: spent,
    tokens,
    most,
  };
}

/** Each pair is one independent draw. @param span of a return */
const intervalOf = (differences: readonly number[], span: number): { readonly low: number; readonly high: number } =>
  bettingInterval(
    differences.map((one) => ({ assignments: [[one]], cells: [one], units: 1 })),
    span,
  );

/** The problems of a block, drawn with equal chances; those of each list differ from each other. */
function drawProblems(instances: readonly Instance[], seed: number, block: number, count: number): Instance[][] {
  const stream = openStream(seed, block);
  const lists: Instance[][] = [];
  const times = new Map<Instance, number>();
  for (let draw = 0; draw < count; draw++) {
    const instance = instances[Math.floor(uniform(stream, draw) * instances.length)];
    if (instance !== undefined) {
      const repeat = times.get(instance) ?? 0;
      times.set(instance, repeat + 1);
      (lists[repeat] ??= []).push(instance);
    }
  }
  return lists;
}

function growAll(
  { evaluator, render, seed }: Ground,
  { protocol, policy, sampling }: Variant,
  instances: readonly Instance[],
  scope: string,
  perPair: number,
  signal: AbortSignal,
): Promise<TreeNode[]> {
  return grow(
    {
      protocol,
      render,
      policy,
      evaluator,
      sampling,
      seed,
      scope,
      budget: new EvaluatorBudget(instances.length * perPair),
      commonRandomNumbers: true,
    },
    instances.map((instance) => ({ instance, node: null })),
    [1],
    { signal },
  );
}

function tokensOf({ answer, children }: TreeNode): number {
  return answer.tokens.length + children.reduce((sum, child) => sum + tokensOf(child), 0);
}

/** What an episode said and returned; null for a masked one. */
function episodeOf(root: TreeNode | undefined, { bound, roles }: Ground): TrialEpisode | null {
  const leaf = root === undefined ? undefined : leavesOf(root)[0];
  const value = leaf === undefined ? null : returnOf(leaf, bound);
  if (leaf === undefined || value === null) {
    return null;
  }
  const nodes: TreeNode[] = [];
  for (let node: TreeNode | null = leaf; node !== null; node = node.parent) {
    nodes.unshift(node);
  }
  return {
    return: value,
    messages: nodes.map(({ position, answer: { text } }) => ({ role: roles[position] ?? '', text })),
  };
}
