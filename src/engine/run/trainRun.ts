/** Trains a run on this machine. The model is loaded before anything is stored. */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import {
  JUDGE_KEY,
  describeJudgeAgreement,
  type JudgeAgreement,
  type RunSummary,
  describeSwapShock,
  type Replacement,
} from '../../domain/run.ts';
import type { AskJudge } from '../../evaluate/modelJudge.ts';
import { PRIVATE_FOLDER } from '../../files/newFile.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { getRunSampling } from '../../training/config/config.ts';
import { findExactDivergenceFault } from '../../training/penalty.ts';
import { checkContexts, listRunProblems } from '../../training/room.ts';
import type { RunControl } from '../../training/runContext.ts';
import { resumeTraining, runTraining } from '../../training/startRun.ts';
import { snapshotPath } from '../../training/state/checkpoints.ts';
import { findSnapshotAfter } from '../../training/state/restore.ts';
import { describeEndpointSeeds } from '../models/endpoints.ts';
import { measureJudge } from '../models/judging.ts';
import { formatLoading } from '../models/loadingWords.ts';
import type { LoadedModel } from '../models/models.ts';
import { mergeRolePolicies } from '../models/roles.ts';
import { readLabels } from '../recipe/judgeLabels.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { findEarlierFile, type EarlierSnapshot } from '../session/earlier.ts';
import { Session, type Engine } from '../session/session.ts';
import type { Lease } from '../session/storeHold.ts';
import { loadBeginning } from '../session/weights.ts';
import type { PreparedRun } from './prepareRun.ts';
import { replaceTeamPolicy } from './replacing.ts';
import { keepAdapters, toStoredRoles, takeRoles } from './runRoles.ts';
import { createTeamEpisodes, type TeamEpisodes } from './teamEpisodes.ts';
import type { Timing } from './timing.ts';

export interface TrainingPlace {
  readonly engine: Engine;
  readonly timing: Timing;
}

/**
 * Loads the model of a prepared run and trains the run to its end.
 * @param hold takes the store until the end of the run; called when everything else is ready
 * @throws C3Error, before anything is stored if a check fails; CancelledError
 */
export async function trainRun(
  { engine, timing }: TrainingPlace,
  prepared: PreparedRun,
  control: RunControl,
  onRemark: (remark: string) => void,
  hold: () => Promise<Lease>,
): Promise<RunSummary> {
  const { recipe, interrupted, stored, remarks, data, protocol, tokenizer, render, roles } = prepared;
  const { config, modelFolder } = recipe;
  const { endpoints } = engine.models;
  const snapshotFolder = engine.weights.folder;
  const { signal } = control;
  await using session = new Session(engine, recipe, signal);
  const { judge } = session;
  const evaluator = session.evaluator(judge);
  const loading = { onProgress: reportLoading(control), signal };
  const model = await session.model({ ...loading, cacheBytes: prepared.cacheBytes });
  const lent = await takeRoles(session, prepared, model, loading);

  // Check that everything fits before any server is asked or anything is stored.
  const { runtime, info, remark } = model;
  if (remark !== null) {
    onRemark(remark);
  }
  const { maxPositions, vocabularySize } = info.config;
  const fault = findExactDivergenceFault(config, vocabularySize);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  if (interrupted === null) {
    const others = [...lent].map(
      ([role, one]) => [role, { tokenizer: one.tokenizer, maxPositions: one.info.config.maxPositions }] as const,
    );
    const { policies } = config;
    await checkContexts(
      {
        protocol,
        policies,
        render,
        tokenizer,
        sampling: getRunSampling(config),
        maxPositions,
        others: new Map(others),
      },
      listRunProblems(config, data),
    );
  }

  // A new run first probes its servers, which is stored as its spending, and measures the agreement
  // of its judge.
  const asked = interrupted === null ? await session.endpoints(tokenizer, {}) : null;
  const agreement = interrupted === null ? await measureAgreement(recipe, judge, signal) : null;
  const lease = await hold();
  const { store } = lease;
  if (interrupted !== null) {
    session.account = endpoints.account(store, interrupted.id);
  }
  const servers = asked ?? (await session.endpoints(tokenizer, interrupted?.recipe.endpoints ?? {}));
  await mkdir(snapshotFolder, { recursive: true, mode: PRIVATE_FOLDER });
  await keepAdapters(roles, lent, snapshotFolder);
  const words = agreement ?? interrupted?.recipe[JUDGE_KEY];
  for (const line of [
    ...remarks,
    ...describeEndpointSeeds(servers.probes),
    ...(words === undefined ? [] : [describeJudgeAgreement(words)]),
  ]) {
    onRemark(line);
  }

  const policies = mergeRolePolicies(lent, servers.policies);
  const { base, replacement } =
    interrupted === null
      ? await readBeginning(model, prepared, {
          ...{ snapshotFolder, store, signal, onRemark },
          earlier: (one) => findEarlierFile(engine, one, signal),
          ...createTeamEpisodes(model, prepared, { evaluator, policies, signal }),
        })
      : {
          base: await loadBeginning(
            runtime,
            info.snapshot,
            findSnapshotAfter(store, interrupted.id, 0).id,
            snapshotFolder,
          ),
          replacement: null,
        };
  const finished = interrupted === null ? 0 : store.run(interrupted.id).steps;
  const dependencies = {
    ...{ store, runtime, tokenizer, protocol, render, maxPositions, evaluator, ...data, modelFolder, snapshotFolder },
    // If the base is missing, resuming reports that.
    base: base ?? info.snapshot,
    recipe: stored(toStoredRoles(roles, lent), servers.probes, replacement, agreement),
    roles: policies,
    clock: () => performance.now() / 1000,
    expected: await timing.announce(recipe, prepared, model, finished, control, onRemark),
    now: () => new Date().toISOString(),
    onStored: (run: string) => endpoints.begun(session.account, store, run),
  };
  if (interrupted !== null) {
    return await resumeTraining(interrupted.id, config, dependencies, control);
  }
  const id = `${config.method}-${config.seed}-${randomUUID().slice(0, 8)}`;
  lease.describe({ kind: 'run', what: id });
  return await runTraining(id, config, dependencies, control);
}

const reportLoading =
  ({ onProgress }: RunControl) =>
  (done: number, total: number): void => {
    const message = formatLoading(done, total);
    onProgress({ run: null, stage: 'load', done, total, metrics: null, remainingSeconds: null, message });
  };

/** Measures how well the judge agrees with itself and with the user's labels, or null without a judge. */
async function measureAgreement(
  { config: { scorer }, folder }: Recipe,
  ask: AskJudge | null,
  signal: AbortSignal,
): Promise<JudgeAgreement | null> {
  return ask === null || scorer?.rubric === undefined || scorer.labels === undefined
    ? null
    : measureJudge({ rubric: scorer.rubric, ask }, await readLabels(scorer.labels, folder), signal);
}

/** The environment for a run that begins with the team of an earlier run (TeamTR reference section 7). */
interface BeginningPlace extends TeamEpisodes {
  readonly snapshotFolder: string;
  readonly store: StoreReader;
  /** Finds the weights file of an earlier run's snapshot. */
  readonly earlier: (earlier: EarlierSnapshot) => Promise<string | null>;
  readonly signal: AbortSignal;
  readonly onRemark: (remark: string) => void;
}

/** The snapshot that a run begins with, and the replacement of a policy, or null. */
interface Begun {
  readonly base: string;
  readonly replacement: Replacement | null;
}

/**
 * Returns the snapshot that a new run begins with. It is saved next to the store for resuming,
 * replays and verification.
 * @throws C3Error if a policy cannot be replaced; CancelledError
 */
async function readBeginning(
  model: Pick<LoadedModel, 'runtime' | 'tokenizer' | 'info'>,
  prepared: Pick<PreparedRun, 'recipe' | 'protocol' | 'beginning'>,
  place: BeginningPlace,
): Promise<Begun> {
  const { runtime, info } = model;
  const { beginning, recipe } = prepared;
  if (beginning === null) {
    return { base: info.snapshot, replacement: null };
  }
  const old = await loadTeamSnapshot(runtime, beginning, 'begin.run', place);
  const replace = recipe.config.begin?.replace ?? null;
  const { base, replacement } =
    replace === null
      ? { base: old, replacement: null }
      : await replaceTeamPolicy(old, model, prepared, {
          ...place,
          policy:
            beginning.policy === null
              ? null
              : await loadTeamSnapshot(runtime, beginning.policy, 'begin.replace.from.run', place),
        });
  for (const remark of replacement === null
    ? [`The run begins with what run ${beginning.run} trained.`]
    : describeReplacement(replacement)) {
    place.onRemark(remark);
  }
  const kept = snapshotPath(place.snapshotFolder, base);
  if (base !== info.snapshot && !existsSync(kept)) {
    await runtime.saveSnapshot(base, kept);
  }
  return { base, replacement };
}

/** Loads the snapshot of an earlier run into the runtime. */
async function loadTeamSnapshot(
  runtime: ModelRuntime,
  earlier: EarlierSnapshot,
  key: string,
  place: BeginningPlace,
): Promise<string> {
  const file = await place.earlier(earlier);
  const held = file === null ? earlier.snapshot : await runtime.loadSnapshot(file);
  if (held !== earlier.snapshot || !(await runtime.snapshots()).includes(held)) {
    throw new C3Error(
      'model',
      `${key}: The weights of run ${earlier.run} are missing, or are not those that it trained; name another run.`,
    );
  }
  return held;
}

function describeReplacement({ role, run, by, probes, kls, delta, shock }: Replacement): readonly string[] {
  const nats = (kl: number): string => `${kl.toPrecision(3)} nats per message`;
  const on = `on ${probes} probe contexts`;
  const before = kls[0] ?? 0;
  const least = Math.min(...kls);
  const done =
    delta === null
      ? `The policy of ${role} in run ${run} is replaced directly by ${by}: the old one is ` +
        `${nats(before)} from it ${on}.`
      : `The policy of ${role} in run ${run} is replaced by ${by}: stage 0 brought the KL from ` +
        `${nats(before)} to ${nats(least)} in ${kls.length - 1} steps ` +
        `${on}${least <= delta ? '' : ', above begin.replace.delta; raise max_steps or the learning rate'}.`;
  return [done, ...(shock === null ? [] : [describeSwapShock(shock)])];
}
