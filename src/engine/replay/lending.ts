/** Lends the weights that stored messages were sampled with, for replays, verification and measurements. */
import { existsSync } from 'node:fs';
import type { SpendingLimit } from '../../policy/endpoint/spending.ts';
import type { PolicyLender } from '../../replay/verify.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { snapshotValue } from '../../training/state/states.ts';
import type { SampleLender } from '../diagnose/diagnoseSample.ts';
import type { LentPolicy, ModelPool, WeightsFinder } from '../models/models.ts';
import { teamOf, withRoles, type LentTeam, type RoleLender } from '../models/roles.ts';
import { parseRecipe, protocolOf, type RoleWeights, type StoredRecipe } from '../recipe/recipe.ts';
import type { StoreWork } from '../run/storeWork.ts';
import type { FindSnapshot, RunSources } from '../run/prepareRoles.ts';
import type { EarlierWeights } from '../run/runRoles.ts';
import { modelGone, noteModel, otherModel, snapshotNamed, withModel } from './continuation.ts';
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

  /**
   * Lends the team of a run with a snapshot of it, or of another model that continued replays of it; roles with weights
   * of their own keep them.
   * @param limit of what servers may cost, in the place of the configuration's
   */
  withSnapshot<Result>(
    run: string,
    recipe: StoredRecipe,
    snapshot: string,
    signal: AbortSignal,
    work: (lent: LentTeam | string) => Promise<Result>,
    limit?: Partial<SpendingLimit>,
  ): Promise<Result> {
    return this.withModel(run, recipe, snapshot, signal, (lent) =>
      typeof lent === 'string' ? work(lent) : this.asTeam(lent, run, recipe, signal, work, limit),
    );
  }

  /** A snapshot on loan with what answers for the other roles of its run. */
  private asTeam<Result>(
    lent: LentPolicy,
    run: string,
    recipe: StoredRecipe,
    signal: AbortSignal,
    work: (lent: LentTeam | string) => Promise<Result>,
    limit: Partial<SpendingLimit> = {},
  ): Promise<Result> {
    const lenders = Object.entries(recipe.roles ?? {}).map(
      ([role, weights]) => [role, this.roleLender(recipe, role, weights, signal)] as const,
    );
    const { policies } = recipe.config;
    return withRoles(lenders, async (roles) => {
      if (typeof roles === 'string') {
        return work(roles);
      }
      const account = this.models.endpoints.account(this.work.writer(), run);
      const endpoints = await this.models.endpoints.open(
        { policies, known: recipe.endpoints ?? {}, tokenizer: lent.tokenizer, account, limit },
        signal,
      );
      return work(teamOf(lent, roles, policies, endpoints.policies));
    });
  }

  private roleLender(
    recipe: StoredRecipe,
    role: string,
    { folder, snapshot, run }: RoleWeights,
    signal: AbortSignal,
  ): RoleLender {
    const find: WeightsFinder =
      run === null
        ? () => Promise.resolve(this.weights.keptFile(snapshot))
        : (name) => this.finder(run, parseRecipe(this.work.writer().runConfig(run), run), signal)(name);
    return async (work) => {
      const gone = (why: string): string =>
        `The weights that answered for the role ${role}, ${snapshot.slice(0, 12)} of ${folder}, have changed or are missing: ${why}`;
      const there = await this.unreadable(folder, signal);
      return there !== null
        ? work(gone(there))
        : this.models.withPolicy(
            withModel(recipe, folder),
            snapshot,
            find,
            (lent) => work(typeof lent === 'string' ? gone(lent) : lent),
            { signal },
          );
    };
  }

  /** Why the tokenizer of a folder cannot be read; null where it can. */
  private unreadable(folder: string, signal: AbortSignal): Promise<string | null> {
    return this.models.texts.tokenizer(folder, signal).then(
      () => null,
      (error: unknown) => {
        if (error instanceof CancelledError) {
          throw error;
        }
        return messageOf(error);
      },
    );
  }

  private async withModel<Result>(
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
    const there = await this.unreadable(folder, signal);
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
        const { runtime, tokenizer, info } = lent;
        const head = await this.weights.valueHead({ store: this.work.writer(), run, recipe, snapshot, signal });
        return this.asTeam(lent, run, recipe, signal, (team) =>
          typeof team === 'string'
            ? work(team)
            : work(team.policy, (moment) =>
                snapshotValue(
                  { ...form, tokenizer, maxPositions: info.config.maxPositions },
                  runtime,
                  { snapshot, head },
                  moment,
                  signal,
                ),
              ),
        );
      });
  }

  /** A snapshot of an earlier run by its name. @throws C3Error('input') where the store has no such run or snapshot */
  private readonly earlier: FindSnapshot = (run, name) => {
    const { storePath } = this.work;
    if (!existsSync(storePath)) {
      throw new C3Error('input', `There is no run ${run} in the store ${storePath}, which is new; name a run of it.`);
    }
    return this.work.reading((store) => ({
      run,
      snapshot: snapshotNamed(store, run, name),
      recipe: parseRecipe(store.runConfig(run), run),
    }));
  };

  /** What runs are prepared from. */
  get sources(): RunSources {
    return { texts: this.models.texts, earlier: this.earlier };
  }

  /** Where the weights of such a snapshot are found. */
  readonly earlierWeights: EarlierWeights = ({ run, recipe }, signal) => this.finder(run, recipe, signal);

  /** Where the weights of a snapshot are found. */
  finder(run: string, recipe: StoredRecipe, signal: AbortSignal, store?: StoreReader): WeightsFinder {
    return (snapshot) => this.weights.file({ store: store ?? this.work.writer(), run, recipe, snapshot, signal });
  }
}
