/** Diagnoses the team as a whole: certificates, coordination, drift within steps, and stability. */

import { summarizeCertificates, type Certified } from '../../diagnostics/certified.ts';
import {
  measureContextDrift,
  measureCoordination,
  estimateStability,
  type AnsweredEpisode,
  type ContextDrift,
  type SeenContext,
} from '../../diagnostics/teamwork.ts';
import type { Interval } from '../../domain/credit.ts';
import type { Message } from '../../domain/message.ts';
import { readLetter, parseChain, type ChainKey } from '../../evaluate/chain.ts';
import { extractAnswer } from '../../evaluate/math/extract.ts';
import type { StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { solvedReturn } from '../../team/rounds.ts';
import { toSolved } from '../../training/measure/evaluation.ts';
import { listNewestEvaluations } from './newestEvaluations.ts';

export interface TeamDiagnosis {
  /** Only for runs whose steps have certificates. */
  readonly certificate?: Certified;
  /** Share of held-out questions on which all roles agree on the correct answer; null if not measured. */
  readonly coordination: Interval | null;
  /** Drift of contexts within steps, summed over stages. Only for runs with several stages in a step. */
  readonly contextDrift?: ContextDrift;
  /** Deviation of the gain in mean return from step to step; null for fewer than two gains. */
  readonly stability: Interval | null;
}

/** Most episodes that are read. */
const MOST_EPISODES = 20_000;
const PAGE = 1000;

/** @param reasons receives the reasons for values that are null */
export function diagnoseTeam(
  store: StoreReader,
  run: string,
  protocol: Protocol,
  reasons: Record<string, string>,
): TeamDiagnosis {
  const steps = store.steps(run, 0, store.countSteps(run));
  const certificate = summarizeCertificates(steps.flatMap(({ metrics }) => metrics ?? []));
  const agreed = measureCoordination(readAnsweredQuestions(store, run, protocol));
  if (agreed === null) {
    reasons['coordination'] = 'No episode of the last evaluation has answers of two roles, which could agree.';
  }
  const stable = estimateStability(steps.map(({ metrics }) => metrics?.meanReturn ?? null));
  if (stable === null) {
    reasons['stability'] = 'The run has fewer than three steps with a mean return one after the other.';
  }
  const drift = measureContextDrift(readStagedSteps(store, run));
  return {
    ...(certificate !== null && { certificate }),
    coordination: agreed,
    ...(drift !== null && { contextDrift: drift }),
    stability: stable,
  };
}

/** Returns the roles' answers in the last evaluation, greedy or sampled, grouped by question. */
function readAnsweredQuestions(store: StoreReader, run: string, protocol: Protocol): AnsweredEpisode[][] {
  const [newest] = listNewestEvaluations(store, run);
  const found = new Map<string, AnsweredEpisode[]>();
  if (newest === undefined || protocol.roles.length < 2) {
    return [];
  }
  for (const { problem, leaf, return: value } of readPhaseEpisodes(store, run, 'evaluate', newest.iteration)) {
    const right = toSolved(value, solvedReturn(protocol));
    if (right !== null) {
      const last = new Map(store.chain(leaf).map(({ role, text }) => [role, text]));
      const said = protocol.roles.map(({ name }) => last.get(name) ?? '');
      const own = {
        answers: extractStatedAnswers(said, parseChain(store.problem(problem).answer)),
        solved: right === 1,
      };
      found.set(problem, [...(found.get(problem) ?? []), own]);
    }
  }
  return [...found.values()];
}

/**
 * Returns the answer that each message states, or null for each one without an answer. In the chain
 * task each role says one letter of a common answer, so every role that says a letter is counted
 * with the letters of all.
 * @param said last message of each role, in the order of the roles
 * @param chain key of a question of the chain task, otherwise null
 */
export function extractStatedAnswers(said: readonly string[], chain: ChainKey | null): (string | null)[] {
  return chain?.links === said.length
    ? said.map((text) => (readLetter(text, chain) === null ? null : said.map((one) => one.trim()).join(', ')))
    : said.map((text) => extractAnswer(text).answer?.toLowerCase() ?? null);
}

/** Returns the contexts by stage of the newest steps that have several stages. */
function readStagedSteps(store: StoreReader, run: string): SeenContext[][][] {
  const found: SeenContext[][][] = [];
  let read = 0;
  for (let step = store.run(run).steps; step > 0 && read < MOST_EPISODES; step--) {
    if (store.stages(run, step).length > 0) {
      const stages = new Map<number, SeenContext[]>();
      for (const { leaf } of readPhaseEpisodes(store, run, 'train', step)) {
        read++;
        const chain = store.chain(leaf);
        const stage = chain[0]?.stage ?? 0;
        stages.set(stage, [...(stages.get(stage) ?? []), ...chain.map(toSeenContext)]);
      }
      found.push([...stages].sort(([one], [other]) => one - other).map(([, contexts]) => contexts));
    }
  }
  return found;
}

const toSeenContext = ({ problem, role, turn, contextKey }: Message): SeenContext => {
  const group = `${problem} ${role} ${turn}`;
  return { group, key: `${group} ${contextKey}` };
};

function* readPhaseEpisodes(store: StoreReader, run: string, phase: 'train' | 'evaluate', iteration: number) {
  for (let offset = 0; offset < MOST_EPISODES; offset += PAGE) {
    const page = store.episodes({ run, phase, iteration, offset, limit: PAGE });
    yield* page;
    if (page.length < PAGE) {
      return;
    }
  }
}
