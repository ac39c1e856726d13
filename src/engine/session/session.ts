/** One piece of work of an engine: its store, weights, policies and evaluators, released together. */

import { IMPORTED } from '../../domain/episode.ts';
import type { Sampling } from '../../domain/message.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { AskJudge } from '../../evaluate/modelJudge.ts';
import type { SpendingLimit } from '../../policy/endpoint/spending.ts';
import { PolicyGone } from '../../policy/policy.ts';
import { createTeamPolicy } from '../../policy/teamPolicy.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { unlessCancelled } from '../../shared/cancellation.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { RolePolicies } from '../../shared/rolePolicies.ts';
import type { StoreWriter } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Renderer } from '../../team/render.ts';
import { getRunSampling } from '../../training/config/config.ts';
import { valueSnapshotState, type Moment } from '../../training/state/states.ts';
import { SpendingAccount, type EndpointProbes, type OpenEndpoints } from '../models/endpoints.ts';
import { createJudgeAsker } from '../models/judging.ts';
import type { LentPolicy, LoadControl, LoadedModel, ModelPool, WeightsFinder } from '../models/models.ts';
import { mergeRolePolicies, createRunRenderer, type Team } from '../models/roles.ts';
import type { Evaluators, ScoredRecipe } from '../recipe/evaluators.ts';
import {
  parseRecipe,
  parseRecipeProtocol,
  type Recipe,
  type RoleWeights,
  type StoredRecipe,
} from '../recipe/recipe.ts';
import { describeMissingModel, storeOtherModel, findOtherModel, withModelFolder } from './continuation.ts';
import type { OpenStore, StoreWork } from './storeWork.ts';
import type { Weights } from './weights.ts';

/** The resources that all work of an engine shares. */
export interface Engine {
  readonly work: StoreWork;
  readonly models: ModelPool;
  readonly evaluators: Evaluators;
  readonly weights: Weights;
}

/** Work with a recipe: on a stored run, or on a new one. */
export class Session implements AsyncDisposable {
  readonly engine: Engine;
  readonly recipe: Recipe;
  readonly signal: AbortSignal;
  /** Account that counts the costs of servers. */
  account: SpendingAccount;
  private readonly limit: Partial<SpendingLimit>;
  protected readonly holds = new Holds();

  /** @param limit spending limit of servers, which replaces the configured limit */
  constructor(
    engine: Engine,
    recipe: Recipe,
    signal: AbortSignal,
    account = new SpendingAccount(),
    limit: Partial<SpendingLimit> = {},
  ) {
    this.engine = engine;
    this.recipe = recipe;
    this.signal = signal;
    this.account = account;
    this.limit = limit;
  }

  /** Function that asks the model judge of the recipe; null without a judge. */
  get judge(): AskJudge | null {
    const { config, places } = this.recipe;
    return createJudgeAsker(this.engine.models.endpoints, config.scorer?.judge, () => this.account, {
      limit: this.limit,
      places,
    });
  }

  /** Returns the evaluator. @param ask the judge, or null if its scores must not be repeated */
  evaluator(ask: AskJudge | null, scored: ScoredRecipe = this.recipe): Evaluator {
    return this.holds.add(this.engine.evaluators.take(scored, ask)).evaluator;
  }

  /** Loads the recipe's model alone, until the session ends. */
  model(control: LoadControl): Promise<LoadedModel> {
    return this.holds.take(this.engine.models.takeAlone(this.recipe, control));
  }

  /** Keeps a policy until the session ends. */
  keep(taking: Promise<LentPolicy>): Promise<LentPolicy> {
    return this.holds.take(taking);
  }

  /** Opens the servers that answer for roles. @param known results of earlier probes */
  endpoints(
    tokenizer: Pick<Tokenizer, 'encode' | 'decode'>,
    known: EndpointProbes,
    more: { readonly policies?: RolePolicies; readonly keys?: ReadonlyMap<string, string> } = {},
  ): Promise<OpenEndpoints> {
    const { account, limit, signal } = this;
    const { config, places } = this.recipe;
    const opening = { policies: config.policies, places, known, tokenizer, account, limit, ...more };
    return this.engine.models.endpoints.open(opening, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.holds[Symbol.asyncDispose]();
  }
}

export interface SessionSettings {
  /** Description of the work, for those who wait for the store. */
  readonly what: string;
  readonly run: string;
  /** True if the work has parts that take the store themselves. */
  readonly hasParts?: boolean;
  /** Spending limit of servers, which replaces the configured limit. */
  readonly limit?: Partial<SpendingLimit> | undefined;
}

/** The rules by which episodes of a run continue. */
export interface EpisodeRules {
  readonly store: StoreWriter;
  readonly protocol: Protocol;
  /** Renders contexts as the run did. */
  readonly render: Renderer;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly returnBound: number;
}

/** Work on a stored run. */
export class RunSession extends Session {
  declare readonly recipe: StoredRecipe;
  readonly run: string;
  readonly store: StoreWriter;
  readonly protocol: Protocol;

  private constructor(engine: Engine, run: string, limit: Partial<SpendingLimit> | undefined, opened: OpenStore) {
    const { store, signal } = opened;
    const recipe = parseRecipe(store.runConfig(run), run);
    super(engine, recipe, signal, engine.models.endpoints.account(store, run), limit);
    this.run = run;
    this.store = store;
    this.protocol = parseRecipeProtocol(recipe);
  }

  /** Begins work on a run once no other process writes its store. @throws C3Error; CancelledError */
  static async open(engine: Engine, settings: SessionSettings, signal: AbortSignal): Promise<RunSession> {
    await using holds = new Holds();
    const opened = await holds.take(engine.work.open(settings.what, signal, settings.hasParts));
    const session = new RunSession(engine, settings.run, settings.limit, opened);
    session.holds.add(holds.move());
    return session;
  }

  /** True if another program recorded the run. */
  get isImported(): boolean {
    return this.store.run(this.run).method === IMPORTED;
  }

  get rules(): EpisodeRules {
    const { engine, store, protocol, recipe, signal } = this;
    const { seed, credit } = recipe.config;
    return {
      ...{ store, protocol, seed, returnBound: credit.return_clip },
      sampling: getRunSampling(recipe.config),
      render: createRunRenderer(engine.models.texts, recipe, signal),
    };
  }

  /**
   * Loads the team of the run with a snapshot of the run, or of another model that continued its
   * replays. Roles with their own weights keep them. Cancellation does not wait for a model that is
   * being loaded.
   * @throws PolicyGone; C3Error if a server does not answer; CancelledError
   */
  team(snapshot: string): Promise<Team> {
    return this.unlessCancelled(this.takeTeam(snapshot));
  }

  /** Like `team`, with the state values of the run's value head for these weights. */
  async valuedTeam(snapshot: string): Promise<Team & { stateValue(moment: Moment): Promise<number> }> {
    await using holds = new Holds();
    const team = await holds.take(this.team(snapshot));
    const { store, run, recipe, signal, protocol } = this;
    const head = await this.engine.weights.valueHead({ store, run, recipe, snapshot, signal });
    const { runtime, tokenizer, info } = team;
    const render = this.engine.models.texts.renderer(recipe.modelFolder, recipe.rendering, signal);
    const form = { protocol, render, tokenizer, maxPositions: info.config.maxPositions };
    holds.move();
    return { ...team, stateValue: (moment) => valueSnapshotState(form, runtime, { snapshot, head }, moment, signal) };
  }

  /** Loads another model and stores its snapshot with the run. @returns the snapshot */
  otherModel(folder: string): Promise<string> {
    const { engine, recipe, signal } = this;
    return this.unlessCancelled(
      engine.models.base(withModelFolder(recipe, folder), { signal }).then((snapshot) => {
        storeOtherModel(this.store, this.run, snapshot, folder);
        return snapshot;
      }),
    );
  }

  /**
   * Loads the model of the run's folder with the adapter of another folder. Nothing is stored.
   * @throws C3Error('model') if the adapter does not fit; CancelledError
   */
  withAdapter(folder: string): Promise<LentPolicy> {
    const { engine, recipe, signal } = this;
    return this.unlessCancelled(engine.models.takeFolder(recipe, folder, { signal }));
  }

  private async takeTeam(snapshot: string): Promise<Team> {
    const { recipe } = this;
    await using holds = new Holds();
    const own = await holds.take(this.ownModel(snapshot));
    const roles = new Map<string, LentPolicy>();
    for (const [role, weights] of Object.entries(recipe.roles ?? {})) {
      roles.set(role, await holds.take(this.roleModel(role, weights)));
    }
    const { policies } = await this.endpoints(own.tokenizer, recipe.endpoints ?? {});
    const policy = createTeamPolicy(
      own.policy,
      recipe.config.policies,
      own.tokenizer,
      mergeRolePolicies(roles, policies),
    );
    const held = holds.move();
    return { ...own, own: own.policy, roles, policy, [Symbol.asyncDispose]: () => held[Symbol.asyncDispose]() };
  }

  private ownModel(snapshot: string): Promise<LentPolicy> {
    const { engine, store, run, recipe, signal } = this;
    const folder = findOtherModel(store, run, snapshot);
    return folder === null
      ? engine.models.take(recipe, snapshot, engine.weights.finder({ store, run, recipe, signal }), { signal })
      : this.elsewhere(folder, snapshot, findNoWeights, (why) => describeMissingModel(folder, snapshot, why));
  }

  private roleModel(role: string, { folder, snapshot, run }: RoleWeights): Promise<LentPolicy> {
    const { store, signal } = this;
    const { weights } = this.engine;
    const find: WeightsFinder = (name) =>
      run === null
        ? Promise.resolve(weights.keptFile(name))
        : weights.finder({ store, run, recipe: parseRecipe(store.runConfig(run), run), signal })(name);
    return this.elsewhere(
      folder,
      snapshot,
      find,
      (why) =>
        `The weights that answered for the role ${role}, ${snapshot.slice(0, 12)} of ${folder}, have changed or are missing: ${why}`,
    );
  }

  /** Takes a snapshot of a model folder that may have changed since. */
  private async elsewhere(
    folder: string,
    snapshot: string,
    find: WeightsFinder,
    gone: (why: string) => string,
  ): Promise<LentPolicy> {
    const { recipe, signal } = this;
    const { models } = this.engine;
    try {
      await models.texts.tokenizer(folder, signal);
    } catch (error) {
      throw error instanceof CancelledError ? error : new PolicyGone(gone(toErrorMessage(error)));
    }
    return PolicyGone.inWords(models.take(withModelFolder(recipe, folder), snapshot, find, { signal }), gone);
  }

  /** Awaits a resource. If the session is cancelled first, the resource is released when it arrives. */
  private async unlessCancelled<Result>(taking: Promise<Result>): Promise<Result> {
    const tracked = this.engine.work.tracked(taking);
    try {
      return await unlessCancelled(tracked, this.signal);
    } catch (error) {
      releaseLate(tracked).catch(() => undefined);
      throw error;
    }
  }
}

const findNoWeights: WeightsFinder = () => Promise.resolve(null);

/** Releases a resource that arrives too late. Ignores its errors. */
async function releaseLate(taking: Promise<unknown>): Promise<void> {
  const late = await taking.catch(() => null);
  if (typeof late === 'object' && late !== null && Symbol.asyncDispose in late) {
    await (late as AsyncDisposable)[Symbol.asyncDispose]();
  }
}
