/** Replaying and re-executing stored messages on this machine, with the weights that they were sampled with. */
import { comparedCredits } from '../../credit/compared.ts';
import { compareReturns } from '../../credit/sameReturns.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { replayMessage } from '../../replay/replayMessage.ts';
import { isUnseeded, sampleAgain } from '../../replay/sampleAgain.ts';
import type { ReplayControl } from '../../replay/request.ts';
import { replaysOfMessage, verifyReplays, type VerificationReport, type VerifyControl } from '../../replay/verify.ts';
import { onAbort, throwIfAborted, unlessCancelled } from '../../shared/cancellation.ts';
import { IMPORTED } from '../../shared/records/logImport.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import { costWords, type EndpointCost } from '../../shared/endpointCost.ts';
import { AS_RECORDED } from '../../shared/records/continuation.ts';
import { JUDGE_KEY, judgeWords } from '../../shared/records/judge.ts';
import type { BucketView, Decision, Replay } from '../../shared/records/records.ts';
import type { ReplayResult } from '../../shared/records/settle.ts';
import type { ReturnSamples } from '../../shared/records/verification.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { capabilitiesOf, requireCapability } from '../../shared/rolePolicies.ts';
import { runSampling } from '../../training/config/config.ts';
import type { ModelPool } from '../models/models.ts';
import { judging } from '../models/judging.ts';
import { runRenderer, type LentTeam } from '../models/roles.ts';
import type { Evaluators } from '../recipe/evaluators.ts';
import { templateRemark } from '../recipe/fingerprint.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import { paced } from '../run/time/pace.ts';
import type { StoreWork } from '../run/storeWork.ts';
import { snapshotNamed } from './continuation.ts';
import { costedTeam, costsOf, samplingCosts } from './costsHere.ts';
import { readTeam, type RecordedTeam } from '../program/teamFile.ts';
import { forkCosts, forkHere } from './forkHere.ts';
import type { Lending } from './lending.ts';
import { decidedIn, withPairs, type EngineReplay } from './settling.ts';
import { checkLength } from './typedLength.ts';

/** Replays that are read together. */
const PAGE = 500;

/** What they need. */
export interface ReplayPlace {
  readonly work: StoreWork;
  readonly models: ModelPool;
  readonly lending: Lending;
  readonly evaluators: Evaluators;
}

/** Replays a message in a store that is held for writing. */
export async function replayHere(
  { work, models, lending, evaluators }: ReplayPlace,
  store: StoreWriter,
  decision: Decision,
  request: EngineReplay,
  control: ReplayControl,
): Promise<ReplayResult> {
  const { run } = decision;
  const { team, ...rest } = request;
  if (store.run(run).method === IMPORTED) {
    if (team === undefined) {
      throw new C3Error(
        'input',
        `Message ${String(decision.id)} was recorded elsewhere: what comes after another message is known to its program alone. Give --team FILE, which names the program's driver and the servers that answer, or what c3 infer ${String(decision.id)} writes.`,
      );
    }
    return work.tracked(
      forkHere(
        { evaluators, models },
        store,
        decision,
        { ...rest, team },
        { ...control, signal: work.stopping(control.signal) },
      ),
    );
  }
  if (team !== undefined) {
    throw new C3Error('input', `Run ${run} has a team of its own, so --team does not apply; omit it.`);
  }
  const recipe = parseRecipe(store.runConfig(run), run);
  const { config } = recipe;
  if (request.settle !== undefined || request.alternatives > 0) {
    requireCapability(
      config.policies,
      decision.eventType,
      'samples',
      'replay it with a text of your own and no alternatives, or replay a message of another role',
    );
  }
  const { snapshot: name, temperature, model } = request.continuation ?? AS_RECORDED;
  const sampling = {
    ...runSampling(config),
    temperature: temperature ?? store.ownContinuation(decision.id).temperature ?? runSampling(config).temperature,
  };
  const named = name === null ? decision.snapshot : snapshotNamed(store, run, name);
  const remark = await templateRemark(recipe, run);
  if (remark !== null) {
    control.onRemark?.(remark);
  }
  const signal = work.stopping(control.signal);
  const own = name === null && temperature === null && model === null;
  const protocol = protocolOf(recipe);
  const asked = withPairs(request, store.message(decision.id), own, protocol);
  for (const cost of costsOf(store, decision, asked, costedTeam(recipe, request.spending))) {
    control.onRemark?.(costWords(cost));
  }
  const replay = async (lent: LentTeam | string, evaluator: Evaluator): Promise<ReplayResult> => {
    if (typeof lent === 'string') {
      throw new C3Error('model', lent);
    }
    if (request.text !== null && capabilitiesOf(config.policies, decision.eventType).tokens) {
      await checkLength(request.text, decision.context, lent.roles.get(decision.eventType) ?? lent);
    }
    return replayMessage(
      asked,
      {
        store,
        protocol,
        render: runRenderer(models.texts, recipe, signal),
        policy: lent.policy,
        evaluator,
        sampling,
        seed: config.seed,
        returnBound: config.credit.return_clip,
        credit: (alternatives) => comparedCredits(alternatives, 'loo'),
        decided: decidedIn,
      },
      { ...control, signal, due: control.due ?? paced() },
    );
  };
  const agreement = recipe[JUDGE_KEY];
  if (agreement !== undefined) {
    control.onRemark?.(judgeWords(agreement));
  }
  return untilBegun(work, signal, async (begin) => {
    const snapshot = model === null ? named : await lending.lendModel(run, recipe, model, signal);
    return evaluators.using(
      recipe,
      (evaluator) =>
        lending.withSnapshot(
          run,
          recipe,
          snapshot,
          signal,
          (lent) => {
            begin();
            return replay(lent, evaluator);
          },
          request.spending,
        ),
      judging(models.endpoints, config.scorer?.judge, () => models.endpoints.account(store, run), request.spending),
    );
  });
}

/**
 * What a replay may ask of servers at most; nothing of imported runs without a team, whose replays are refused.
 * @throws C3Error('input') where the message's own credit is settled already, or the team file is wrong
 */
export async function replayCostsHere(
  work: Pick<StoreWork, 'reading'>,
  request: EngineReplay,
): Promise<readonly EndpointCost[]> {
  const team = request.team === undefined ? null : await readTeam(request.team, request.teamHash);
  return work.reading((store) => costsIn(store, request, team));
}

function costsIn(store: StoreReader, request: EngineReplay, team: RecordedTeam | null): readonly EndpointCost[] {
  const decision = store.decision(request.message);
  if (store.run(decision.run).method === IMPORTED) {
    return team === null ? [] : forkCosts(store, decision, request, team);
  }
  const recipe = parseRecipe(store.runConfig(decision.run), decision.run);
  const { snapshot, temperature, model } = request.continuation ?? AS_RECORDED;
  const own = snapshot === null && temperature === null && model === null;
  const asked = withPairs(request, store.message(decision.id), own, protocolOf(recipe));
  return costsOf(store, decision, asked, costedTeam(recipe, request.spending));
}

/**
 * Whoever cancels does not wait for a model that is being loaded; work that has begun ends in its own way, keeping
 * what arrived.
 */
async function untilBegun<Result>(
  store: StoreWork,
  signal: AbortSignal,
  work: (begin: () => void) => Promise<Result>,
): Promise<Result> {
  const early = new AbortController();
  const release = onAbort(signal, () => {
    early.abort();
  });
  const begin = (): void => {
    throwIfAborted(signal);
    release();
  };
  try {
    return await unlessCancelled(store.tracked(work(begin)), early.signal);
  } finally {
    release();
  }
}

/** Re-executes replays of a run under its own weights and compares tokens. */
export function verifyHere(
  { work, lending, evaluators }: ReplayPlace,
  store: StoreWriter,
  run: string,
  replays: readonly Replay[],
  control: VerifyControl,
): Promise<VerificationReport> {
  if (store.run(run).method === IMPORTED) {
    return Promise.resolve(notComparable(store, replays));
  }
  const recipe = parseRecipe(store.runConfig(run), run);
  const rules = { protocol: protocolOf(recipe), returnBound: recipe.config.credit.return_clip };
  const signal = work.stopping(control.signal);
  return evaluators.using(recipe, (evaluator) =>
    verifyReplays(store, replays, lending.lender(run, recipe, signal), { ...rules, evaluator }, { ...control, signal }),
  );
}

/** @param again whether replays that no seed gives again are sampled again, which costs as much as they did */
export type AgainControl = VerifyControl & {
  readonly again: boolean;
  /** Hears what that may ask of servers at most, before anything is asked. */
  readonly onRemark?: ((remark: string) => void) | undefined;
};

/**
 * Re-executes replays, and compares the returns of those that no seed gives again with as many that are sampled again.
 * @throws as verifyHere; C3Error('budget') where a spending limit does not reach for it
 */
export async function verifyReturns(
  place: ReplayPlace,
  store: StoreWriter,
  run: string,
  replays: readonly Replay[],
  control: AgainControl,
): Promise<VerificationReport> {
  const report = await verifyHere(place, store, run, replays, control);
  const unseeded =
    !control.again || report.notComparable === 0 || store.run(run).method === IMPORTED
      ? []
      : replays.filter((replay) => isUnseeded(store, replay));
  if (unseeded.length === 0) {
    return report;
  }
  const { work, models, lending, evaluators } = place;
  const recipe = parseRecipe(store.runConfig(run), run);
  const { config } = recipe;
  const signal = work.stopping(control.signal);
  for (const cost of samplingCosts(store, unseeded, costedTeam(recipe))) {
    control.onRemark?.(`To sample again: ${costWords(cost)}`);
  }
  const samples: ReturnSamples[] = [];
  for (const [snapshot, own] of Map.groupBy(unseeded, ({ bucket }) => store.bucket(bucket).snapshot)) {
    const ask = judging(models.endpoints, config.scorer?.judge, () => models.endpoints.account(store, run));
    const sampled = (evaluator: Evaluator): Promise<void> =>
      lending.withSnapshot(run, recipe, snapshot, signal, async (lent) => {
        if (typeof lent !== 'string') {
          const dependencies = {
            store,
            protocol: protocolOf(recipe),
            render: runRenderer(models.texts, recipe, signal),
            policy: lent.policy,
            evaluator,
            sampling: runSampling(config),
            seed: config.seed,
            returnBound: config.credit.return_clip,
          };
          samples.push(...(await sampleAgain(own, dependencies, signal)));
        }
      });
    await evaluators.using(recipe, sampled, ask);
  }
  const returns = compareReturns(samples);
  return { ...report, ...(returns !== null && { returns }) };
}

/** What sampling the replays of a message again may ask of servers at most; nothing where all have seeds. */
export function verifyCostsHere(store: StoreReader, message: number): readonly EndpointCost[] {
  const { run } = store.message(message);
  if (store.run(run).method === IMPORTED) {
    return [];
  }
  const unseeded = knownReplays(store, message).filter((replay) => isUnseeded(store, replay));
  return samplingCosts(store, unseeded, costedTeam(parseRecipe(store.runConfig(run), run)));
}

/** The replays that a message represents. @throws C3Error('input') where it was never replayed */
export function knownReplays(store: StoreReader, message: number): Replay[] {
  const replays = replaysOfMessage(store, message);
  if (replays.length === 0) {
    throw new C3Error('input', `Message ${String(message)} has no replay to verify; replay its alternatives first.`);
  }
  return replays;
}

/** Re-executes every replay of a bucket that is complete; a cancel leaves the rest unverified. */
export async function proveHere(place: ReplayPlace, bucket: number, signal: AbortSignal): Promise<BucketView> {
  const { work } = place;
  try {
    await work.writing('verification of a replay', signal, (store) =>
      verifyHere(place, store, store.bucket(bucket).run, store.replaysOfBucket(bucket), { signal }),
    );
  } catch (error) {
    if (!(error instanceof CancelledError)) {
      throw error;
    }
  }
  return work.reading((reader) => reader.bucketView(bucket));
}

/** Notes of replays that servers answered and a program continued that they cannot be executed again. */
function notComparable(store: StoreWriter, replays: readonly Replay[]): VerificationReport {
  const detail = 'servers answered and a program of the user continued it: sampled, not exact';
  store.transaction(() => {
    for (const { id, environment } of replays) {
      store.insertVerification({ replay: id, result: 'notComparable', detail, difference: null, environment });
    }
  });
  return {
    checked: replays.length,
    identical: 0,
    different: 0,
    notComparable: replays.length,
    firstDifference: null,
    firstReason: detail,
  };
}

/** The replays of a run: all, or a sample spread evenly over them. */
export function replaysToVerify(store: StoreReader, run: string, sample: number | null): Replay[] {
  const total = store.countReplays(run);
  const replays: Replay[] = [];
  if (sample === null || sample >= total) {
    for (let offset = 0; offset < total; offset += PAGE) {
      replays.push(...store.replaysOfRun(run, offset, PAGE));
    }
  } else {
    for (let index = 0; index < sample; index++) {
      replays.push(...store.replaysOfRun(run, Math.floor((index * total) / sample), 1));
    }
  }
  return replays;
}
