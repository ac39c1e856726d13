/** Lends the weights that stored messages were sampled with, for replays, verification and measurements. */
import type { PolicyLender } from '../../replay/verify.ts';
import { CancelledError, messageOf } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { snapshotValue } from '../../training/state/states.ts';
import type { SampleLender } from '../diagnose/diagnoseSample.ts';
import type { LentPolicy, ModelPool, WeightsFinder } from '../models/models.ts';
import { protocolOf, type StoredRecipe } from '../recipe/recipe.ts';
import type { StoreWork } from '../run/storeWork.ts';
import { modelGone, noteModel, otherModel, withModel } from './continuation.ts';
import type { Weights } from './weights.ts';

export class Lending {
  private readonly work: StoreWork;
  private readonly models: ModelPool;
  private readonly weights: Weights;

  constructor(work: StoreWork, models: ModelPool, weights: Weights) {
    this.work = work;
    this.models = models;
    this.weights = weights;
  }

  /** Lends a snapshot of a run, or of another model that continued replays of it. */
  async withSnapshot<Result>(
    run: string,
    recipe: StoredRecipe,
    snapshot: string,
    signal: AbortSignal,
    work: (lent: LentPolicy | string) => Promise<Result>,
  ): Promise<Result> {
    const folder = this.work.reading((store) => otherModel(store, run, snapshot));
    if (folder === null) {
      return this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, signal), work, { signal });
    }
    const there = await this.models.texts.tokenizer(folder, signal).then(
      () => null,
      (error: unknown) => {
        if (error instanceof CancelledError) {
          throw error;
        }
        return messageOf(error);
      },
    );
    if (there !== null) {
      return work(modelGone(folder, snapshot, there));
    }
    return this.models.withPolicy(
      withModel(recipe, folder),
      snapshot,
      () => Promise.resolve(null),
      (lent) => work(typeof lent === 'string' ? modelGone(folder, snapshot, lent) : lent),
      { signal },
    );
  }

  /** Loads another model and notes its weights with the run. @returns their snapshot */
  async lendModel(run: string, recipe: StoredRecipe, folder: string, signal: AbortSignal): Promise<string> {
    const snapshot = await this.models.base(withModel(recipe, folder), { signal });
    noteModel(this.work.writer(), run, snapshot, folder);
    return snapshot;
  }

  /** Lends the policy of a snapshot, or says why it is not there. */
  lender(run: string, recipe: StoredRecipe, signal: AbortSignal): PolicyLender {
    return (snapshot, work) =>
      this.withSnapshot(run, recipe, snapshot, signal, (lent) => work(typeof lent === 'string' ? lent : lent.policy));
  }

  /** Lends policies with the value of states, as the run's value head valued them with these weights. */
  valuesLender(run: string, recipe: StoredRecipe, signal: AbortSignal): SampleLender {
    const form = {
      protocol: protocolOf(recipe),
      render: this.models.texts.renderer(recipe.modelFolder, recipe.rendering, signal),
    };
    return (snapshot, work) =>
      this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, signal), async (lent) => {
        if (typeof lent === 'string') {
          return work(lent);
        }
        const { policy, runtime, tokenizer, info } = lent;
        const head = await this.weights.valueHead({ store: this.work.writer(), run, recipe, snapshot, signal });
        return work(policy, (moment) =>
          snapshotValue(
            { ...form, tokenizer, maxPositions: info.config.maxPositions },
            runtime,
            { snapshot, head },
            moment,
            signal,
          ),
        );
      });
  }

  /** Where the weights of a snapshot are found. */
  finder(run: string, recipe: StoredRecipe, signal: AbortSignal, store?: StoreReader): WeightsFinder {
    return (snapshot) => this.weights.file({ store: store ?? this.work.writer(), run, recipe, snapshot, signal });
  }
}
