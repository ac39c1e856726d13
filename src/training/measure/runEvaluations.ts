/** The evaluations of one run: before its training, at intervals during it, and at its end. */

import {
  isEvaluatedAfter,
  roundDuring,
  EVALUATION_ROUNDS,
  type EvaluationRound,
  type EvaluationKind,
} from '../../domain/evaluation.ts';
import { recordSubtree } from '../../replay/recordTree.ts';
import { solvedReturn } from '../../team/rounds.ts';
import { getRunSampling } from '../config/config.ts';
import type { RunContext } from '../runContext.ts';
import { computeProportion } from './accuracy.ts';
import { countSamples, averageProblems, toSolved, listSolvedOnce, evaluate } from './evaluation.ts';

/**
 * The share of solved episodes per problem, for each kind of evaluation: null for a problem whose
 * episodes are all masked; empty if there was no evaluation.
 */
type Outcomes = Readonly<Record<EvaluationKind, readonly (number | null)[]>>;

export class RunEvaluations {
  private readonly context: RunContext;

  constructor(context: RunContext) {
    this.context = context;
  }

  /**
   * Evaluates after a step if the configuration asks for it. It reads the weights and changes none, and
   * its random streams are those of every other evaluation, so training continues as if it had not
   * happened. Its time and its calls do not count as training.
   */
  async during(step: number, snapshot: string): Promise<void> {
    const { steps, evaluation } = this.context.config;
    if (!isEvaluatedAfter(step, { steps, every: evaluation.every })) {
      return;
    }
    this.context.account.endTraining();
    try {
      for (const kind of ['greedy', 'sampled'] as const) {
        await this.once(roundDuring(step, kind), snapshot);
      }
    } finally {
      this.context.account.beginTraining();
    }
  }

  async both(when: 'before' | 'after', snapshot: string): Promise<Outcomes> {
    const outcomes: Record<EvaluationKind, readonly (number | null)[]> = { greedy: [], sampled: [] };
    for (const round of EVALUATION_ROUNDS) {
      if (round.stage === when) {
        outcomes[round.kind] = await this.once(round, snapshot);
      }
    }
    return outcomes;
  }

  /** Returns 1 for each problem that an episode of the stored sampled evaluation solves, else 0 or null. */
  solvedOnce(when: 'before' | 'after'): (number | null)[] {
    const { protocol, evaluation, store } = this.context.dependencies;
    const { samples } = this.context.config.evaluation;
    const round = EVALUATION_ROUNDS.find(({ stage, kind }) => stage === when && kind === 'sampled');
    const episodes = store.episodes({
      run: this.context.id,
      phase: 'evaluate',
      iteration: round?.iteration ?? 0,
      offset: 0,
      limit: evaluation.length * samples,
    });
    const least = solvedReturn(protocol);
    return listSolvedOnce(
      episodes.map((episode) => toSolved(episode.return, least)),
      samples,
    );
  }

  /** Evaluates the remaining problems. Whole batches are stored, so it continues at the same batch. */
  private async once(of: EvaluationRound, snapshot: string): Promise<(number | null)[]> {
    const { protocol, render, evaluator, evaluation, store } = this.context.dependencies;
    const { iteration: number, kind } = of;
    const { steps } = this.context.config;
    const words = `Evaluating ${kind}, ${of.stage === 'during' ? `after step ${String(of.step)} of ${steps}` : `${of.stage} training`}`;
    const report = (done: number, message: string): void => {
      // During training, the progress counts steps.
      if (of.stage === 'during') {
        this.context.progress('train', of.step ?? 0, steps, message);
      } else {
        this.context.progress(`evaluate-${of.stage}`, done, evaluation.length, message);
      }
    };
    const round = this.context.round('evaluate', number, snapshot);
    const least = solvedReturn(protocol);
    const { batch, samples: asked } = this.context.config.evaluation;
    const samples = countSamples({ kind, samples: asked });
    const stored = store.episodes({
      run: this.context.id,
      phase: 'evaluate',
      iteration: number,
      offset: 0,
      limit: evaluation.length * samples,
    });
    const known = averageProblems(
      stored.map((episode) => toSolved(episode.return, least)),
      samples,
    );
    this.context.remaining.skip(stored.length);
    this.context.remaining.begin();
    report(known.length, words);
    const measured = await evaluate(
      {
        protocol,
        render,
        policy: this.context.policy(snapshot),
        evaluator,
        sampling: getRunSampling(this.context.config),
        seed: this.context.config.seed,
        kind,
        samples,
        batch,
        ...this.context.growth,
      },
      evaluation.slice(known.length),
      {
        signal: this.context.control.signal,
        onBegin: (calls) => this.context.account.announce(calls),
        onBatch: (done, roots) => {
          store.transaction(() => {
            recordSubtree(store, roots, protocol, round);
            this.context.account.bookRoots(roots);
          });
          this.context.remaining.evaluated(roots.length);
          report(known.length + done, `${words}: ${known.length + done} of ${evaluation.length}`);
        },
      },
    );
    const outcomes = [...known, ...measured];
    this.keep(of, outcomes);
    return outcomes;
  }

  /** Stores the result of a complete evaluation at once, so that a continued run finds it. */
  private keep({ iteration, kind, step }: EvaluationRound, outcomes: readonly (number | null)[]): void {
    const { store } = this.context.dependencies;
    if (outcomes.length === 0 || store.evaluations(this.context.id).some((known) => known.iteration === iteration)) {
      return;
    }
    store.insertEvaluation(this.context.id, {
      iteration,
      step: step ?? this.context.config.steps,
      kind,
      result: computeProportion(outcomes),
    });
  }
}
