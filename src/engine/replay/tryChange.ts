/** Trying a change of a team: both variants on the same problems and the same random numbers, to the end. */
import { withRolePolicies } from '../../policy/teamPolicy.ts';
import { isLost } from '../../shared/credit/returns.ts';
import { asksServers } from '../../domain/run.ts';
import { LAST_SNAPSHOT } from '../../domain/replay.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import {
  trialSentence,
  type PolicyChange,
  type TeamChange,
  type Trial,
  type TrialProblems,
} from '../../domain/answer.ts';
import { roleNamed, type Protocol } from '../../team/protocol.ts';
import type { Team } from '../models/roles.ts';
import { snapshotNamed } from '../session/continuation.ts';
import type { RunSession } from '../session/session.ts';
import { evaluatedEpisodes } from './blameRun.ts';
import { comparePairs, type TrialControl } from './comparePairs.ts';

export interface TrialRequest {
  readonly run: string;
  readonly change: TeamChange;
  readonly problems: TrialProblems;
  /** Evaluator calls of both sides together. */
  readonly budget: number;
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
  { change, problems: asked, budget }: Omit<TrialRequest, 'run'>,
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
  const chosen = episodes.filter(({ return: value }) => asked === 'all' || (value !== null && isLost(value, scale)));
  const problems = [...new Set(chosen.map(({ problem }) => problem))].map((uid) => store.problem(uid));
  if (problems.length === 0) {
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
      problems,
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
