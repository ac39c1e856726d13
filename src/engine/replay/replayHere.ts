/** Replaying and re-executing stored messages on this machine, with the weights that they were sampled with. */
import { comparedCredits } from '../../credit/compared.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { replayMessage } from '../../replay/replayMessage.ts';
import type { ReplayControl } from '../../replay/request.ts';
import { verifyReplays, type VerificationReport, type VerifyControl } from '../../replay/verify.ts';
import { onAbort, throwIfAborted, unlessCancelled } from '../../shared/cancellation.ts';
import { IMPORTED } from '../../shared/records/logImport.ts';
import { C3Error } from '../../shared/errors.ts';
import { AS_RECORDED } from '../../shared/records/continuation.ts';
import type { Decision, Replay } from '../../shared/records/records.ts';
import type { ReplayResult } from '../../shared/records/settle.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { capabilitiesOf, requireCapability } from '../../shared/rolePolicies.ts';
import { runSampling } from '../../training/config/config.ts';
import type { ModelPool } from '../models/models.ts';
import { runRenderer, type LentTeam } from '../models/roles.ts';
import type { Evaluators } from '../recipe/evaluators.ts';
import { templateRemark } from '../recipe/fingerprint.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import { paced } from '../run/time/pace.ts';
import type { StoreWork } from '../run/storeWork.ts';
import { snapshotNamed } from './continuation.ts';
import { forkHere } from './forkHere.ts';
import type { Lending } from './lending.ts';
import { endpointCosts } from './endpointCost.ts';
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
        `Message ${String(decision.id)} was recorded elsewhere: what comes after another message is known to its program alone. Give --team FILE, which names the program's driver and the servers that answer.`,
      );
    }
    return work.tracked(
      forkHere(evaluators, store, decision, { ...rest, team }, { ...control, signal: work.stopping(control.signal) }),
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
  for (const line of endpointCosts(asked, protocol, decision.position, config.policies)) {
    control.onRemark?.(line);
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
      { ...control, signal, due: paced() },
    );
  };
  return untilBegun(work, signal, async (begin) => {
    const snapshot = model === null ? named : await lending.lendModel(run, recipe, model, signal);
    return evaluators.using(config, (evaluator) =>
      lending.withSnapshot(run, recipe, snapshot, signal, (lent) => {
        begin();
        return replay(lent, evaluator);
      }),
    );
  });
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
  return evaluators.using(recipe.config, (evaluator) =>
    verifyReplays(store, replays, lending.lender(run, recipe, signal), { ...rules, evaluator }, { ...control, signal }),
  );
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
