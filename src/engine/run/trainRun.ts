/** A run on this machine: its model is loaded before anything is stored, then it is trained to its end. */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { JUDGE_KEY, judgeWords, type JudgeAgreement, type RunSummary } from '../../domain/run.ts';
import type { AskJudge } from '../../evaluate/modelJudge.ts';
import { PRIVATE_FOLDER } from '../../files/newFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { runSampling } from '../../training/config/config.ts';
import { exactDivergenceFault } from '../../training/penalty.ts';
import { checkContexts, runProblems } from '../../training/room.ts';
import type { RunControl } from '../../training/runContext.ts';
import { resumeTraining, runTraining } from '../../training/startRun.ts';
import { snapshotAfter } from '../../training/state/restore.ts';
import { endpointRemarks } from '../models/endpoints.ts';
import { measureJudge } from '../models/judging.ts';
import { loadingWords } from '../models/loadingWords.ts';
import { rolePolicies } from '../models/roles.ts';
import { readLabels } from '../recipe/judgeLabels.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { earlierFile } from '../session/earlier.ts';
import { Session, type Engine } from '../session/session.ts';
import type { Lease } from '../session/storeHold.ts';
import { beganWith } from '../session/weights.ts';
import { readBeginning } from './beginning.ts';
import type { PreparedRun } from './prepareRun.ts';
import { keepAdapters, storedRoles, takeRoles } from './runRoles.ts';
import { teamEpisodes } from './teamEpisodes.ts';
import type { Timing } from './timing.ts';

export interface TrainingPlace {
  readonly engine: Engine;
  readonly timing: Timing;
}

/**
 * Loads the model of a prepared run and takes the run to its end.
 * @param hold gives the store, held to the end of the run; asked for when all else is there
 * @throws C3Error, before anything is stored where something does not fit; CancelledError
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
  const loading = { onProgress: sayLoading(control), signal };
  const model = await session.model({ ...loading, cacheBytes: prepared.cacheBytes });
  const lent = await takeRoles(session, prepared, model, loading);

  // Whether it fits, before anything is asked or stored.
  const { runtime, info, remark } = model;
  if (remark !== null) {
    onRemark(remark);
  }
  const { maxPositions, vocabularySize } = info.config;
  const fault = exactDivergenceFault(config, vocabularySize);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  if (interrupted === null) {
    const others = [...lent].map(
      ([role, one]) => [role, { tokenizer: one.tokenizer, maxPositions: one.info.config.maxPositions }] as const,
    );
    const { policies } = config;
    await checkContexts(
      { protocol, policies, render, tokenizer, sampling: runSampling(config), maxPositions, others: new Map(others) },
      runProblems(config, data),
    );
  }

  // A new run learns first whether its servers answer, and what it spends on that is stored with it; and how far its
  // judge is to be believed.
  const asked = interrupted === null ? await session.endpoints(tokenizer, {}) : null;
  const agreement = interrupted === null ? await measured(recipe, judge, signal) : null;
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
    ...endpointRemarks(servers.probes),
    ...(words === undefined ? [] : [judgeWords(words)]),
  ]) {
    onRemark(line);
  }

  const policies = rolePolicies(lent, servers.policies);
  const { base, replacement } =
    interrupted === null
      ? await readBeginning(model, prepared, {
          ...{ snapshotFolder, store, signal, onRemark },
          earlier: (one) => earlierFile(engine, one, signal),
          ...teamEpisodes(model, prepared, { evaluator, policies, signal }),
        })
      : {
          base: await beganWith(runtime, info.snapshot, snapshotAfter(store, interrupted.id, 0).id, snapshotFolder),
          replacement: null,
        };
  const finished = interrupted === null ? 0 : store.run(interrupted.id).steps;
  const dependencies = {
    ...{ store, runtime, tokenizer, protocol, render, maxPositions, evaluator, ...data, modelFolder, snapshotFolder },
    // Where it is not there any more, resuming says so.
    base: base ?? info.snapshot,
    recipe: stored(storedRoles(roles, lent), servers.probes, replacement, agreement),
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

const sayLoading =
  ({ onProgress }: RunControl) =>
  (done: number, total: number): void => {
    const message = loadingWords(done, total);
    onProgress({ run: null, stage: 'load', done, total, metrics: null, remainingSeconds: null, message });
  };

/** How far the judge of a run agrees with itself and with the user's labels; null where none scores. */
async function measured(
  { config: { scorer }, folder }: Recipe,
  ask: AskJudge | null,
  signal: AbortSignal,
): Promise<JudgeAgreement | null> {
  return ask === null || scorer?.rubric === undefined || scorer.labels === undefined
    ? null
    : measureJudge({ rubric: scorer.rubric, ask }, await readLabels(scorer.labels, folder), signal);
}
