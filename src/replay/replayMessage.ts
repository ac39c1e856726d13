/**
 * Replays a stored message: samples alternatives from its frozen context, and continues each to the
 * end of the episode.
 */

import type { FullMessage } from '../domain/message.ts';
import { NO_SEEDS_REMARK, type BucketView, type ReplayResult } from '../domain/replay.ts';
import type { PolicyControl } from '../policy/policy.ts';
import { unlessCancelled } from '../shared/cancellation.ts';
import { isTerminal, requireOccurrence } from '../team/protocol.ts';
import { EvaluatorBudget } from './budget.ts';
import { continueRounds } from './episodes.ts';
import { extend, findRoleSampling, scoreMessage, type TreeSettings } from './grow.ts';
import { placeMessage } from './program.ts';
import { recordEnd, recordEpisode, recordMessage, recordReplay, type RoundRecord } from './recordTree.ts';
import { checkRequest, type ReplayControl, type ReplayDependencies, type ReplayRequest } from './request.ts';
import { ScoreBook } from './reuse.ts';
import {
  readEditedResult,
  readFrozenBranch,
  toTreeMessage,
  toTypedMessage,
  type EditedResult,
} from './storedBranch.ts';
import { countReplayCalls, type Branch, type TreeMessage } from './tree.ts';

/** Pairs that are sampled together: few enough to stop early, enough to keep a batch busy. */
const PAIRS_TOGETHER = 8;
/** The most replays that are reported one by one. Of more, every n-th is. */
const REPORTED_REPLAYS = 512;

/**
 * Opens a bucket on the message's context and fills it. Rows appear when they are complete, credits
 * at the end. A cancel keeps the rows that arrived.
 * @throws C3Error('input') if numbers are out of bounds; CancelledError
 */
export async function replayMessage(
  request: ReplayRequest,
  dependencies: ReplayDependencies,
  control: ReplayControl,
): Promise<ReplayResult> {
  return (await openReplay(request, dependencies, control)).execute();
}

/** A replay with an empty bucket. Its number determines its random numbers. */
export interface OpenReplay {
  /** Fills the bucket. @throws CancelledError, keeping the rows that arrived */
  execute(): Promise<ReplayResult>;
}

/**
 * Opens a bucket on the message's context. Replays that execute together are opened one after
 * another, so that the order of their numbers does not depend on time.
 * @throws C3Error('input') if numbers are out of bounds; CancelledError
 */
export async function openReplay(
  request: ReplayRequest,
  dependencies: ReplayDependencies,
  control: ReplayControl,
): Promise<OpenReplay> {
  checkRequest(request);
  const { store } = dependencies;
  const message = placeMessage(dependencies, store.fullMessage(request.message));
  if (!dependencies.policy.seeded) {
    control.onRemark?.(NO_SEEDS_REMARK);
  }
  // A context that cannot be reproduced is refused before anything is stored. The number is taken
  // and stored without a pause.
  const branch = await readFrozenBranch(message, dependencies, control.signal);
  return new ReplayRun(
    request,
    message,
    { ...branch, results: readEditedResult(dependencies, message, request.result) },
    dependencies,
    control,
    store.nextRequestNumber(message.run),
  );
}

type ForkedBranch = Branch & { readonly results: EditedResult | null };

class ReplayRun implements OpenReplay {
  private readonly request: ReplayRequest;
  private readonly message: FullMessage;
  private readonly dependencies: ReplayDependencies;
  private readonly control: ReplayControl;
  private readonly settings: TreeSettings;
  private readonly round: RoundRecord;
  private readonly branch: ForkedBranch;
  private readonly bucket: number;
  private readonly terminal: boolean;
  /** The number of ended replays by alternative. */
  private readonly ended = new Map<TreeMessage, number>();
  /** The messages at the ends of episodes. An alternative among them is complete after one replay. */
  private readonly endings = new Set<TreeMessage>();
  private replaysEnded = 0;
  private original: TreeMessage | undefined;
  private readonly paired: boolean;

  constructor(
    request: ReplayRequest,
    message: FullMessage,
    branch: ForkedBranch,
    dependencies: ReplayDependencies,
    control: ReplayControl,
    number: number,
  ) {
    const { store, protocol, render, policy, evaluator, sampling, seed, returnBound, program } = dependencies;
    this.request = request;
    this.message = message;
    this.dependencies = dependencies;
    this.control = control;
    this.terminal = isTerminal(protocol, message.position);
    this.paired = request.design === 'paired';
    this.settings = {
      protocol,
      render,
      policy,
      evaluator,
      budget: new EvaluatorBudget(Infinity),
      sampling,
      seed,
      scope: `request:${number}`,
      commonRandomNumbers: request.independent !== true,
      ...(program !== undefined && { program }),
      ...(dependencies.reuse === false ? { reuse: false } : { scores: new ScoreBook() }),
    };
    this.round = {
      run: message.run,
      phase: 'replay',
      iteration: number,
      snapshot: policy.snapshot,
      environment: store.environmentId(policy.environment),
      returnBound,
    };
    this.branch = branch;
    this.bucket = store.transaction(() => {
      const bucket = store.insertBucket({
        run: message.run,
        origin: dependencies.origin ?? 'request',
        iteration: number,
        problem: message.problem,
        role: message.role,
        turn: message.turn,
        contextKey: message.contextKey,
        snapshot: policy.snapshot,
        message: message.id,
      });
      store.insertAlternative(bucket, message.id, 0, true);
      return bucket;
    });
  }

  async execute(): Promise<ReplayResult> {
    try {
      return await this.fill();
    } finally {
      // Rows that arrived before a cancel or a failure count too.
      this.dependencies.store.refreshHeadlines();
    }
  }

  private async fill(): Promise<ReplayResult> {
    const { store } = this.dependencies;
    const { branch } = this;
    const stored = toTreeMessage(store, branch.problem, this.message, branch.message);
    const original = this.branch.results === null ? stored : { ...stored, edited: this.branch.results.recorded };
    this.original = original;
    // Stored messages are scored again if their scores are part of the return.
    for (let grown: TreeMessage | null = original; grown !== null; grown = grown.parent) {
      await this.score(grown);
    }
    const alternatives = [original];
    if (this.terminal) {
      this.endReplay(original, original);
    }
    const control: PolicyControl = { signal: this.control.signal };
    // Stored text is UTF-8, which has no lone surrogates.
    const typed = this.request.text?.toWellFormed() ?? (this.branch.results === null ? null : this.message.text);
    if (typed !== null) {
      alternatives.push(await this.typedMessage(branch, typed, this.request.alternatives + 1, control));
    }
    if (this.paired) {
      await this.pair(original, control);
    } else {
      alternatives.push(...(await this.sample(this.request.alternatives, 1, control)));
      if (!this.terminal) {
        await this.continueAll(alternatives, null, control);
      }
    }
    const credited = this.credits();
    store.transaction(() => {
      for (const { message, bucketCredit } of credited.alternatives) {
        if (bucketCredit !== null) {
          store.insertCredit(this.bucket, message, bucketCredit);
        }
      }
    });
    this.report(credited);
    return this.paired ? { ...credited, spent: this.spent } : credited;
  }

  /** Samples alternatives in the frozen context, numbered from `first` on. */
  private sample(count: number, first: number, control: PolicyControl): Promise<TreeMessage[]> {
    return extend(
      this.settings,
      [this.branch],
      this.message.position,
      count,
      control,
      (message) => this.appear(message),
      { kind: 'alternatives', first },
    );
  }

  /**
   * Samples pairs of an alternative and the message itself in chunks, until the requested number is
   * reached or the credit is decided.
   */
  private async pair(original: TreeMessage, control: PolicyControl): Promise<void> {
    const { alternatives: pairs } = this.request;
    for (let first = 0; first < pairs; first += PAIRS_TOGETHER) {
      const sampled = await this.sample(Math.min(PAIRS_TOGETHER, pairs - first), first + 1, control);
      const numbers = sampled.map((_, index) => first + index);
      if (!this.terminal) {
        await this.continueAll([...sampled, ...sampled.map(() => original)], [...numbers, ...numbers], control);
      }
      if (this.dependencies.decided?.(this.credits()) === true) {
        return;
      }
    }
  }

  private score(message: TreeMessage): Promise<void> {
    if (requireOccurrence(this.dependencies.protocol, message.position).scored) {
      this.settings.budget.reserve(1);
    }
    return unlessCancelled(scoreMessage(this.settings, message, this.control.signal), this.control.signal);
  }

  private async typedMessage(
    branch: Branch,
    text: string,
    sibling: number,
    control: PolicyControl,
  ): Promise<TreeMessage> {
    const { policy } = this.dependencies;
    const { role, context } = this.message;
    const sampling = findRoleSampling(this.settings, this.message.position);
    const answer = await policy.typed({ role, context, text, temperature: sampling.temperature }, control);
    const message = toTypedMessage(branch, this.message, {
      sibling,
      sampling,
      answer,
      edited: this.branch.results?.edited,
    });
    await this.score(message);
    this.appear(message);
    return message;
  }

  /** Stores a new alternative. A terminal one is complete at once. */
  private appear(message: TreeMessage): void {
    const { store, protocol } = this.dependencies;
    store.transaction(() => {
      recordMessage(store, message, protocol, this.round, this.bucket);
      if (this.terminal) {
        recordEpisode(store, message, this.round, () => true);
      }
    });
    if (this.terminal) {
      this.endReplay(message, message);
    } else {
      this.report();
    }
  }

  /**
   * Continues every alternative `replays` times. Replay m draws the same random numbers below each
   * of them, unless they are to be independent.
   * @param numbers of each alternative's only continuation, if they do not count from 0; an
   *   alternative may then be repeated
   */
  private async continueAll(
    alternatives: readonly TreeMessage[],
    numbers: readonly number[] | null,
    control: PolicyControl,
  ): Promise<void> {
    const { store, protocol } = this.dependencies;
    if (protocol.rounds !== undefined) {
      await this.unfold(alternatives, numbers, control);
      return;
    }
    const later = protocol.occurrences.filter(({ position }) => position > this.message.position);
    const alternativeOf = new Map<TreeMessage, TreeMessage>(alternatives.map((message) => [message, message]));
    let frontier: readonly TreeMessage[] = alternatives;
    for (const [level, { position }] of later.entries()) {
      const last = level === later.length - 1;
      frontier = await extend(
        this.settings,
        frontier.map((message) => ({ problem: message.problem, message })),
        position,
        level === 0 && numbers === null ? this.request.replays : 1,
        control,
        (message) => {
          const alternative = message.parent === null ? undefined : alternativeOf.get(message.parent);
          if (alternative === undefined) {
            return;
          }
          alternativeOf.set(message, alternative);
          store.transaction(() => {
            recordMessage(store, message, protocol, this.round, null);
            if (last) {
              this.endEpisode(message, alternative);
            }
          });
          if (last) {
            this.endReplay(alternative, message);
          }
        },
        level === 0 && numbers !== null ? { kind: 'continuations', replays: numbers } : { kind: 'continuations' },
      );
    }
  }

  /** Does the same for an episode that unfolds, so that each replay has its own length. */
  private async unfold(
    alternatives: readonly TreeMessage[],
    numbers: readonly number[] | null,
    control: PolicyControl,
  ): Promise<void> {
    const { store, protocol } = this.dependencies;
    await continueRounds(
      this.settings,
      {
        alternatives,
        replays: this.request.replays,
        numbers,
        onMessage: (message) => void recordMessage(store, message, protocol, this.round, null),
        onEnd: (leaf, alternative, number) => {
          this.endEpisode(leaf, alternative);
          this.endReplay(alternative, leaf, number);
        },
      },
      control,
    );
  }

  /** Stores an episode that ended, or only the new events of the message's own episode. */
  private endEpisode(leaf: TreeMessage, alternative: TreeMessage): void {
    const { store } = this.dependencies;
    if (this.endings.has(leaf)) {
      return;
    }
    this.endings.add(leaf);
    store.transaction(() => {
      if (leaf !== this.original) {
        const isFirst = (through: TreeMessage): boolean => through !== alternative || this.isFirst(alternative, leaf);
        recordEpisode(store, leaf, this.round, isFirst);
      } else if (leaf.after?.some(({ stored }) => stored === undefined) === true) {
        recordEnd(store, leaf, this.message.run);
      }
    });
  }

  private endReplay(alternative: TreeMessage, leaf: TreeMessage, number = leaf.replay ?? 0): void {
    const { store } = this.dependencies;
    recordReplay(
      store,
      this.bucket,
      alternative,
      leaf,
      number,
      countReplayCalls(alternative, leaf, this.isFirst(alternative, leaf)),
      this.round,
    );
    const count = (this.ended.get(alternative) ?? 0) + 1;
    this.ended.set(alternative, count);
    this.replaysEnded++;
    const stride = Math.ceil((this.paired ? this.total : this.total * this.request.replays) / REPORTED_REPLAYS);
    if (count === this.needed(alternative) || this.replaysEnded % stride === 0) {
      this.report();
    }
  }

  /** Returns true for the replay of an alternative that includes the cost of the alternative itself. */
  private isFirst(alternative: TreeMessage, leaf: TreeMessage): boolean {
    return (this.paired && alternative !== this.original) || (leaf.replay ?? 0) === 0;
  }

  /** The replays of all pairs so far. A message whose text determines its return needs none. */
  private get spent(): number {
    return this.replaysEnded - (this.terminal ? 1 : 0);
  }

  /** The number of requested alternatives, or for pairs, of replays. */
  private get total(): number {
    if (this.paired) {
      return this.request.alternatives * (this.terminal ? 1 : 2);
    }
    return this.request.alternatives + (this.request.text === null && this.branch.results === null ? 0 : 1);
  }

  /** Returns the number of replays that complete an alternative. */
  private needed(alternative: TreeMessage): number {
    return this.terminal || this.endings.has(alternative) ? 1 : this.request.replays;
  }

  /** Returns the bucket so far, with current credits and the headlines that include them. */
  private credits(): BucketView {
    this.dependencies.store.refreshHeadlines();
    const view = this.dependencies.store.bucketView(this.bucket);
    const credits = this.dependencies.credit(view.alternatives);
    return {
      ...view,
      alternatives: view.alternatives.map((alternative, index) => ({
        ...alternative,
        bucketCredit: credits[index] ?? null,
      })),
    };
  }

  /** @param last the bucket at the end, which is always reported */
  private report(last: BucketView | null = null): void {
    if (last === null && this.control.due?.() === false) {
      return;
    }
    let done = this.paired ? this.spent : 0;
    for (const [alternative, count] of this.ended) {
      if (!this.paired && alternative !== this.original && count >= this.needed(alternative)) {
        done++;
      }
    }
    this.control.onProgress(last ?? this.credits(), done, this.total);
  }
}
