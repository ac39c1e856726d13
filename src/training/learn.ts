/**
 * The optimizer's part of one iteration. It reads everything from the store, so a step that is
 * executed again, after a crash or to rebuild a snapshot, is the same step.
 */

import { mean } from '../credit/describe.ts';
import type { MethodState, StepMetrics, RankShift } from '../domain/step.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import type { StepReport } from '../runtime/train/stepReport.ts';
import { DEFAULT_PROVIDER } from '../shared/devices.ts';
import { C3Error } from '../shared/errors.ts';
import type { StoreReader } from '../store/types.ts';
import { creditVariance, addReference, type LearningGroup } from './advantages.ts';
import type { RunConfig } from './config/config.ts';
import { measureDivergence, type Divergence, type Origin } from './divergence.ts';
import { trainValueHead } from './learnValues.ts';
import { listLearningRoles, makeStepRandom } from './learningStep.ts';
import type { Method, Outcome, PolicyUpdate, Update, Updates } from './methods/method.ts';
import { getMethod, countStages } from './methods/methods.ts';
import { applyPenalty, getPenalty, type Penalized } from './penalty.ts';
import { chooseSilentTreatment, keepSignal, treatSilentMessages } from './silentMessages.ts';
import { readStage, type StageMessages } from './stageMessages.ts';
import { readStateAfter } from './state/methodStates.ts';
import type { StateForm } from './state/states.ts';
import { selectContexts, weighContexts } from './updateContexts.ts';

export interface LearnInput extends StateForm {
  readonly run: string;
  readonly config: RunConfig;
  /** The run's method; by default the one that its configuration names. */
  readonly method?: Method;
  readonly store: StoreReader;
  readonly runtime: ModelRuntime;
  /** Snapshot of the reference policy: the weights that the run began with. */
  readonly base: string;
  readonly signal: AbortSignal;
}

/** The measures of a step's updates; the run adds those of sampling. */
export type LearnReport = Omit<StepMetrics, 'meanReturn' | 'generateSeconds' | 'trainSeconds'>;

export interface Learned {
  readonly report: LearnReport;
  /** The method's state after its updates, or null if it keeps the state from its credit. */
  readonly state: MethodState | null;
}

export interface Stages {
  /**
   * Samples a stage that is not stored yet, with weights that the runtime holds, and stores it. Absent
   * for a step whose stages are all stored.
   */
  readonly sample?: (stage: number, snapshot: string) => Promise<void>;
  /** Ends the step before this stage is sampled. */
  readonly until?: number;
}

/**
 * Makes a method's updates from the stored messages and credits of an iteration. The runtime must be
 * in the state after the iteration before.
 * @throws CancelledError; C3Error
 */
export async function learnStep(input: LearnInput, iteration: number, stages: Stages = {}): Promise<Learned> {
  const step = new Step(input, iteration, stages);
  try {
    return await step.make();
  } finally {
    await step.release();
  }
}

class Step {
  private readonly input: LearnInput & { readonly method: Method };
  private readonly iteration: number;
  private readonly stages: Stages;
  /** The newest stage, its messages, and the policy that sampled them. */
  private stage = 0;
  private messages: StageMessages = { said: [], learned: [], groups: [], contexts: [], nodes: [], origins: new Map() };
  private last = '';
  /** The messages of the step's first stage. */
  private first = this.messages;
  private result: LearnReport = {
    loss: 0,
    kl: 0,
    clipFraction: 0,
    gradientNorm: 0,
    learningRate: 0,
    ratioDeviation: 0,
    creditVariance: 0,
  };
  private readonly groups: LearningGroup[] = [];
  /** Optimizer steps since the newest stage was sampled, and the reports of the newest pass. */
  private updates = 0;
  private pass: readonly StepReport[] = [];
  /** True if log-probabilities of the current policy are those of the reference to the bit. */
  private atReference = false;
  /** The effective clip of all updates of the step. */
  private readonly clips: number[] = [];
  /** Log-probabilities under the reference policy, by a message's tokens. */
  private readonly references = new WeakMap<Int32Array, Float32Array>();
  private kept = false;
  private carried: MethodState | null = null;
  /** Snapshots that are held only for this step. */
  private readonly own = new Set<string>();

  constructor(input: LearnInput, iteration: number, stages: Stages) {
    this.input = { ...input, method: input.method ?? getMethod(input.config.method) };
    this.iteration = iteration;
    this.stages = stages;
  }

  async make(): Promise<Learned> {
    const { config, method, protocol } = this.input;
    await this.begin(0, await this.hold());
    if (method.measures !== undefined) {
      this.result = { ...this.result, ...method.measures(this.state(), config) };
    }
    await driveUpdates(
      method.updates({
        settings: config,
        iteration: this.iteration,
        state: this.state(),
        nodes: this.messages.nodes,
        random: makeStepRandom(config, this.iteration),
        roles: listLearningRoles(config, protocol),
      }),
      (update) => this.update(update),
    );
    return { report: this.result, state: this.carried };
  }

  async release(): Promise<void> {
    for (const snapshot of this.own) {
      await this.input.runtime.releaseSnapshot(snapshot);
    }
  }

  /** @returns null if the step ends here */
  private async update(update: Update): Promise<Outcome | null> {
    const { runtime, config, method, run } = this.input;
    switch (update.kind) {
      case 'rollouts':
        return this.rollouts();
      case 'values': {
        const target = method.valueTarget(config);
        if (target === null) {
          throw new Error('A method whose value head learns has a value target.');
        }
        const { loss, explainedVariance } = await trainValueHead(this.input, this.messages, target, update);
        const explained = explainedVariance === null ? {} : { explainedVariance };
        this.result = { ...this.result, valueLoss: loss, ...explained };
        return {};
      }
      case 'keep':
        await runtime.keepTraining();
        this.kept = true;
        return {};
      case 'revert':
        // Weights that an earlier step kept are gone after an interruption.
        if (!this.kept) {
          throw new Error(
            `Step ${this.iteration} of run ${run} restores weights that it did not save; a method must save before it restores, in each step.`,
          );
        }
        await runtime.revertTraining(update.share);
        this.atReference = false;
        return {};
      case 'divergence': {
        const last = update.exact === true ? this.last : null;
        const from = update.of === 'first' ? this.first : this.messages;
        const compared = { exact: last, ranks: update.ranks === true ? this.last : null };
        return {
          divergence: await measureRoleDivergence(this.input, selectContexts(update, from), from.origins, compared),
        };
      }
      case 'finish':
        this.result = { ...this.result, ...update.measures };
        this.carried = update.state;
        return {};
      case 'policy':
        return this.learnPolicy(update);
    }
  }

  /** Moves to the next stage: reads it if it is stored, and samples it otherwise. */
  private async rollouts(): Promise<Outcome | null> {
    const { store, run, method, config, protocol } = this.input;
    const { sample, until } = this.stages;
    const stage = this.stage + 1;
    const where = `stage ${stage} of step ${this.iteration} of run ${run}`;
    const most = countStages(method, config, protocol);
    if (stage >= most) {
      throw new Error(`There is no ${where}: its method declares ${most}, the first of them stage 0.`);
    }
    const snapshot = await this.hold();
    if (stage === until) {
      return null;
    }
    const stored = store.stages(run, this.iteration).find((one) => one.stage === stage);
    if (stored === undefined && sample === undefined) {
      throw new C3Error('store', `The store ${store.path} has no ${where}; start a new run.`);
    }
    if (stored !== undefined && stored.snapshot !== snapshot) {
      throw new C3Error(
        'model',
        `What comes before ${where}, executed again, gave the weights ${snapshot.slice(0, 12)} where ${stored.snapshot.slice(0, 12)} are stored; use the machine and the version that the run was made with, or start a new run.`,
      );
    }
    if (stored === undefined) {
      await sample?.(stage, snapshot);
    }
    await this.begin(stage, snapshot);
    return { state: this.state() };
  }

  /** Moves to the messages of a stage. */
  private async begin(stage: number, snapshot: string): Promise<void> {
    this.stage = stage;
    this.last = snapshot;
    this.updates = 0;
    const { provider } = this.input.runtime.environment;
    this.atReference = snapshot === this.input.base && provider === DEFAULT_PROVIDER;
    this.messages = await readStage(this.input, this.iteration, stage);
    this.first = stage === 0 ? this.messages : this.first;
    this.groups.push(...this.messages.groups);
    const signal = computeSignalShare(this.groups);
    this.result = { ...this.result, creditVariance: creditVariance(this.groups), ...(signal !== null && { signal }) };
  }

  private state(): MethodState {
    return readStateAfter(this.input, this.iteration, this.stage);
  }

  /** Holds the current weights until the end of the step. */
  private async hold(): Promise<string> {
    const { runtime } = this.input;
    const held = await runtime.snapshots();
    const snapshot = await runtime.freeze();
    if (!held.includes(snapshot)) {
      this.own.add(snapshot);
    }
    return snapshot;
  }

  private async learnPolicy(update: PolicyUpdate): Promise<Outcome> {
    const { runtime, config, base, signal } = this.input;
    const { learningRate, loss, batch, node } = update;
    const penalty = await this.learnedFrom(update);
    if ((batch !== undefined || node !== undefined) && penalty.contexts.length === 0) {
      // There may be more mini-batches than contexts, or nothing was measured at a node.
      return {};
    }
    const report = await runtime.step(
      penalty.contexts,
      {
        loss: 'ppo',
        temperature: config.sampling.temperature,
        recompute: config.memory.recompute,
        microBatchTokens: config.memory.micro_batch_tokens,
        ...penalty.settings,
        learningRate,
        ...((loss ?? penalty.kl) !== undefined && {
          policy: { ...loss, ...(penalty.kl !== undefined && { kl: penalty.kl }) },
        }),
      },
      signal,
    );
    // A gradient of 0 moves the policy only if the optimizer has moments.
    this.atReference &&= report.gradientNorm === 0 && (await this.hold()) === base;
    // The first step after sampling shows how far sampler and trainer agree; later ones move on purpose.
    const isFirst = this.updates++ === 0;
    const first = isFirst ? report.ratioDeviation : 0;
    const begins = node === undefined ? batch === undefined || batch.index === 0 : isFirst;
    this.pass = begins ? [report] : [...this.pass, report];
    if (penalty.contexts.length > 0) {
      this.clips.push(report.effectiveClip);
    }
    this.result = {
      ...this.result,
      ...averageReports(this.pass),
      ...(this.clips.length > 0 && { effectiveClip: mean(this.clips) }),
      learningRate,
      ratioDeviation: Math.max(first, this.result.ratioDeviation),
    };
    return { report };
  }

  /** Returns the contexts of an update with its penalty applied. */
  private async learnedFrom(update: PolicyUpdate): Promise<Penalized> {
    const { config, base } = this.input;
    const term = update.kl ?? getPenalty(config);
    const silent = update.perMessage === true ? 'learned' : chooseSilentTreatment(config.ppo, term, this.atReference);
    const { contexts, length } = weighContexts(config, update, this.messages, silent === 'learned');
    const penalty = applyPenalty(
      { ...term, coefficient: term.coefficient * length },
      await this.scored(treatSilentMessages(contexts, silent)),
      { reference: base, last: this.last },
    );
    return silent === 'dropped after shaping' ? { ...penalty, contexts: keepSignal(penalty.contexts) } : penalty;
  }

  /**
   * Adds the log-probabilities of the reference policy to the contexts, and scores each message with a
   * weight once. It does so even without a penalty, because the reported divergence is from the
   * reference.
   */
  private async scored(contexts: readonly TrainingContext[]): Promise<TrainingContext[]> {
    const { runtime, config, base, signal } = this.input;
    const missing = contexts.flatMap((context) => {
      const messages = context.messages.filter(({ tokens, weight }) => weight !== 0 && !this.references.has(tokens));
      return messages.length === 0 ? [] : [{ ...context, messages }];
    });
    const found = await runtime.score(base, missing, config.sampling.temperature, signal);
    for (const [place, { messages }] of missing.entries()) {
      for (const [number, { tokens, reference }] of messages.entries()) {
        this.references.set(tokens, found[place]?.[number] ?? reference);
      }
    }
    return addReference(
      contexts,
      contexts.map(({ messages }) => messages.map(({ tokens, reference }) => this.references.get(tokens) ?? reference)),
    );
  }
}

/** Returns the mean reports of the optimizer steps of a pass. */
function averageReports(
  reports: readonly StepReport[],
): Pick<LearnReport, 'loss' | 'kl' | 'penalty' | 'clipFraction' | 'gradientNorm'> {
  const meanOf = (value: (report: StepReport) => number): number => mean(reports.map(value));
  return {
    loss: meanOf(({ loss }) => loss),
    kl: meanOf(({ kl }) => kl),
    ...(reports.some(({ penalty }) => penalty !== undefined) && { penalty: meanOf(({ penalty = 0 }) => penalty) }),
    clipFraction: meanOf(({ clipFraction }) => clipFraction),
    gradientNorm: meanOf(({ gradientNorm }) => gradientNorm),
  };
}

/** Makes a method's updates and passes back their outcomes, until one of them ends the step. */
export async function driveUpdates(updates: Updates, make: (update: Update) => Promise<Outcome | null>): Promise<void> {
  try {
    let next = await updates.next({});
    while (next.done !== true) {
      const outcome = await make(next.value);
      if (outcome === null) {
        return;
      }
      next = await updates.next(outcome);
    }
  } finally {
    await updates.return();
  }
}

interface DivergenceInput {
  readonly runtime: ModelRuntime;
  readonly config: RunConfig;
  readonly signal: AbortSignal;
}

/**
 * Measures how far each role's messages have moved from the policy that sampled them.
 * @param origins origins of messages by their tokens
 * @param last the snapshot that sampled, if the whole vocabulary is compared: for the exact KL, and
 *   for probabilities by rank
 */
async function measureRoleDivergence(
  { runtime, config, signal }: DivergenceInput,
  contexts: readonly TrainingContext[],
  origins: ReadonlyMap<Int32Array, Origin>,
  last: { readonly exact: string | null; readonly ranks: string | null },
): Promise<ReadonlyMap<string, Divergence>> {
  const held = await runtime.snapshots();
  const snapshot = await runtime.freeze();
  try {
    const scores = await runtime.score(snapshot, contexts, config.sampling.temperature, signal);
    const exact =
      last.exact === null
        ? null
        : await runtime.divergence(last.exact, snapshot, contexts, config.sampling.temperature, signal);
    const ranks = new Map<string, RankShift>();
    for (const [role, own] of last.ranks === null ? [] : Map.groupBy(contexts, (one) => one.role ?? '')) {
      ranks.set(role, await runtime.rankShift(last.ranks ?? '', snapshot, own, config.sampling.temperature, signal));
    }
    const moved = contexts.flatMap(({ role = '', messages }, index) =>
      messages.map(({ tokens, behaviour, advantages: [advantage = 0] }, number) => {
        const origin = origins.get(tokens);
        return {
          role,
          before: behaviour,
          advantage,
          after: scores[index]?.[number] ?? behaviour,
          ...(exact !== null && { exact: exact[index]?.[number] ?? new Float32Array() }),
          ...(origin !== undefined && { origin }),
        };
      }),
    );
    return new Map(
      [...Map.groupBy(moved, ({ role }) => role)].map(([role, own]) => {
        const shift = ranks.get(role);
        return [role, { ...measureDivergence(own), ...(shift !== undefined && { ranks: shift }) }];
      }),
    );
  } finally {
    if (!held.includes(snapshot)) {
      await runtime.releaseSnapshot(snapshot);
    }
  }
}

/** Returns the share of tokens in messages with a nonzero credit, of all credited ones, or null. */
export function computeSignalShare(groups: readonly Pick<LearningGroup, 'messages'>[]): number | null {
  const credited = groups.flatMap(({ messages }) => messages.filter(({ credit }) => credit !== null));
  const tokensOf = (messages: LearningGroup['messages']): number =>
    messages.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return credited.length === 0 ? null : tokensOf(credited.filter(({ credit }) => credit !== 0)) / tokensOf(credited);
}
