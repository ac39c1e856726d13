/** Runs episodes of teams in the runtime, to count solved questions and to sample contexts of a role. */

import type { Evaluator } from '../../evaluate/evaluator.ts';
import { LocalPolicy, type Policy, type RolePolicy } from '../../policy/policy.ts';
import { createTeamPolicy } from '../../policy/teamPolicy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { growEpisodes } from '../../replay/episodes.ts';
import type { TreeMessage } from '../../replay/tree.ts';
import { requireOccurrence } from '../../team/protocol.ts';
import { countMostScores } from '../../team/rounds.ts';
import type { Probe } from '../../training/align.ts';
import { getRunSampling } from '../../training/config/config.ts';
import { evaluate } from '../../training/measure/evaluation.ts';
import type { LoadedModel } from '../models/models.ts';
import { listTrainingQuestions } from '../recipe/questions.ts';
import type { PreparedRun } from './prepareRun.ts';
import type { SolvedBy } from './swapShock.ts';

/** Distinct contexts in which a role spoke, each with its message and the log-probabilities. */
export interface Probes {
  readonly contexts: readonly Probe[];
  readonly evaluatorCalls: number;
}

/** Samples contexts of a role under a team that the runtime holds. @param most most contexts */
export type ProbesUnder = (snapshot: string, role: string, most: number) => Promise<Probes>;

export interface TeamEpisodes {
  readonly solvedBy: SolvedBy;
  readonly probesUnder: ProbesUnder;
}

export interface TeamPlace {
  readonly evaluator: Evaluator;
  /** Policies of the roles that do not use the team's weights. */
  readonly policies: ReadonlyMap<string, RolePolicy>;
  readonly signal: AbortSignal;
}

/** Most probes of one question if the task has fewer questions than probes. */
const MOST_EPISODES = 8;

/** Lists a message and all its descendants. */
const listTree = (message: TreeMessage): readonly TreeMessage[] => [message, ...message.children.flatMap(listTree)];

/** Scores nothing, for episodes that do not depend on scores. */
const UNSCORED: Evaluator = {
  name: 'none',
  evaluate: () => Promise.resolve({ score: null, rule: 'none', masked: 'It is not evaluated.' }),
};

export function createTeamEpisodes(
  { runtime, tokenizer, info }: Pick<LoadedModel, 'runtime' | 'tokenizer' | 'info'>,
  { recipe: { config }, protocol, render, data }: Pick<PreparedRun, 'recipe' | 'protocol' | 'render' | 'data'>,
  { evaluator, policies, signal }: TeamPlace,
): TeamEpisodes {
  const sampling = getRunSampling(config);
  const { seed } = config;
  const { batch } = config.evaluation;
  const teamOf = (snapshot: string): Policy =>
    createTeamPolicy(
      new LocalPolicy(runtime, tokenizer, snapshot, info.config.maxPositions),
      config.policies,
      tokenizer,
      policies,
    );

  const solvedBy: SolvedBy = async (snapshot) => {
    let evaluatorCalls = 0;
    const outcomes = await evaluate(
      {
        ...{ protocol, render, policy: teamOf(snapshot), evaluator, sampling, seed, batch },
        kind: 'greedy',
        samples: 1,
      },
      data.evaluation,
      {
        signal,
        onBegin: (calls) => {
          evaluatorCalls += calls;
        },
        onBatch: () => undefined,
      },
    );
    return { outcomes, evaluatorCalls };
  };

  const probesUnder: ProbesUnder = async (snapshot, role, most) => {
    const questions = listTrainingQuestions(config, data, most);
    const episodes = Math.min(MOST_EPISODES, Math.ceil(most / Math.max(1, questions.length)));
    // Only protocols with rounds depend on scores.
    const isScored = protocol.rounds !== undefined;
    const found = new Map<string, Probe>();
    let evaluatorCalls = 0;
    for (let start = 0; start < questions.length && found.size < most; start += batch) {
      const members = questions.slice(start, start + batch);
      const budget = new EvaluatorBudget(members.length * episodes * countMostScores(protocol));
      const roots = await growEpisodes(
        {
          ...{ protocol, render, policy: teamOf(snapshot), sampling, seed, budget },
          evaluator: isScored ? evaluator : UNSCORED,
          scope: 'probes',
          commonRandomNumbers: false,
        },
        members.map((problem) => ({ problem, message: null })),
        [episodes],
        { signal },
      );
      evaluatorCalls += isScored ? budget.calls : 0;
      for (const { context, position, answer } of roots.flatMap(listTree)) {
        const { prompt, tokens, logprobs } = answer;
        if (requireOccurrence(protocol, position).role === role && tokens.length > 0 && found.size < most) {
          const message = {
            tokens,
            behaviour: logprobs,
            reference: logprobs,
            advantages: new Float32Array(tokens.length),
          };
          found.set(context, found.get(context) ?? { role, prompt, messages: [message] });
        }
      }
    }
    return { contexts: [...found.values()], evaluatorCalls };
  };

  return { solvedBy, probesUnder };
}
