/** A run on this machine: its model is loaded before anything is stored, then it is trained to its end. */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { AskJudge } from '../../evaluate/judge.ts';
import { JUDGE_KEY, judgeWords, type JudgeAgreement } from '../../shared/records/judge.ts';
import { readLabels } from '../recipe/judgeLabels.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { PRIVATE_FOLDER } from '../../files/newFile.ts';
import { C3Error } from '../../shared/errors.ts';
import type { RunSummary } from '../../shared/records/records.ts';
import { runSampling } from '../../training/config/config.ts';
import type { RolePolicy } from '../../policy/policy.ts';
import { exactDivergenceProblem } from '../../training/penalty.ts';
import { checkContexts, runInstances } from '../../training/room.ts';
import type { RunControl } from '../../training/runContext.ts';
import { resumeTraining, runTraining } from '../../training/startRun.ts';
import type { Evaluators } from '../recipe/evaluators.ts';
import type { LoadedModel, ModelPool } from '../models/models.ts';
import type { Lease } from './storeHold.ts';
import type { Timing } from './timing.ts';
import { loadingWords } from '../models/loadingWords.ts';
import { judging, measureJudge } from '../models/judging.ts';
import { endpointRemarks, SpendingAccount, type OpenEndpoints } from '../models/endpoints.ts';
import type { LentRoles } from '../models/roles.ts';
import type { PreparedRun } from './prepareRun.ts';
import { beganWith, beginningOf } from './beginning.ts';
import { teamEpisodes } from './teamEpisodes.ts';
import { snapshotAfter } from '../../training/state/restore.ts';
import { keepAdapters, storedRoles, withRunRoles, type EarlierWeights } from './runRoles.ts';

export interface TrainingPlace {
  readonly models: ModelPool;
  readonly evaluators: Evaluators;
  readonly timing: Timing;
  readonly snapshotFolder: string;
  /** Finds the weights of earlier runs' snapshots. */
  readonly earlier: EarlierWeights;
}

/**
 * Loads the model of a prepared run and takes the run to its end.
 * @param hold gives the store, held to the end of the run; asked for when all else is there
 * @throws C3Error, before anything is stored where something does not fit; CancelledError
 */
export async function trainHere(
  { models, evaluators, timing, snapshotFolder, earlier }: TrainingPlace,
  prepared: PreparedRun,
  control: RunControl,
  onRemark: (remark: string) => void,
  hold: () => Promise<Lease>,
): Promise<RunSummary> {
  const { recipe, interrupted, stored, remarks, data, protocol, tokenizer, render, roles } = prepared;
  let account = new SpendingAccount();
  const ask = judging(models.endpoints, recipe.config.scorer?.judge, () => account);
  const work = async (model: LoadedModel, lent: LentRoles, evaluator: Evaluator): Promise<RunSummary> => {
    const { runtime, info, remark } = model;
    if (remark !== null) {
      onRemark(remark);
    }
    const { maxPositions, vocabularySize } = info.config;
    const problem = exactDivergenceProblem(recipe.config, vocabularySize);
    if (problem !== null) {
      throw new C3Error('input', problem);
    }
    if (interrupted === null) {
      await checkContexts(
        {
          protocol,
          policies: recipe.config.policies,
          render,
          tokenizer,
          sampling: runSampling(recipe.config),
          maxPositions,
          others: new Map(
            [...lent].map(([role, one]) => [
              role,
              { tokenizer: one.tokenizer, maxPositions: one.info.config.maxPositions },
            ]),
          ),
        },
        runInstances(recipe.config, data),
      );
    }
    const openEndpoints = (spent: SpendingAccount): Promise<OpenEndpoints> =>
      models.endpoints.open(
        { policies: recipe.config.policies, known: interrupted?.recipe.endpoints ?? {}, tokenizer, account: spent },
        control.signal,
      );
    // A new run learns first whether its servers answer; what it spends on that is stored with it.
    const asked = interrupted === null ? await openEndpoints(account) : null;
    // And how far its judge is to be believed.
    const agreement = interrupted === null ? await measured(recipe, ask, control.signal) : null;
    const lease = await hold();
    const { store } = lease;
    if (interrupted !== null) {
      account = models.endpoints.account(store, interrupted.id);
    }
    const endpoints = asked ?? (await openEndpoints(account));
    await mkdir(snapshotFolder, { recursive: true, mode: PRIVATE_FOLDER });
    await keepAdapters(roles, lent, snapshotFolder);
    const words = agreement ?? interrupted?.recipe[JUDGE_KEY];
    const judgeRemarks = words === undefined ? [] : [judgeWords(words)];
    for (const line of [...remarks, ...endpointRemarks(endpoints.probes), ...judgeRemarks]) {
      onRemark(line);
    }
    const policies = new Map<string, RolePolicy>([
      ...[...lent].map(([role, { policy }]) => [role, policy] as const),
      ...endpoints.policies,
    ]);
    const { base, replacement } =
      interrupted === null
        ? await beginningOf(model, prepared, {
            snapshotFolder,
            store,
            earlier,
            ...teamEpisodes(model, prepared, { evaluator, policies, signal: control.signal }),
            signal: control.signal,
            onRemark,
          })
        : {
            base: await beganWith(runtime, info.snapshot, snapshotAfter(store, interrupted.id, 0).id, snapshotFolder),
            replacement: null,
          };
    const dependencies = {
      store,
      runtime,
      // Where it is not there any more, resuming says so.
      base: base ?? info.snapshot,
      tokenizer,
      protocol,
      render,
      maxPositions,
      evaluator,
      ...data,
      recipe: stored(storedRoles(roles, lent), endpoints.probes, replacement, agreement),
      roles: policies,
      modelFolder: recipe.modelFolder,
      snapshotFolder,
      clock: () => performance.now() / 1000,
      expected: await timing.announce(
        recipe,
        prepared,
        model,
        interrupted === null ? 0 : store.run(interrupted.id).steps,
        control,
        onRemark,
      ),
      now: () => new Date().toISOString(),
      onStored: (run: string) => {
        models.endpoints.begun(account, store, run);
      },
    };
    if (interrupted !== null) {
      return resumeTraining(interrupted.id, recipe.config, dependencies, control);
    }
    const id = `${recipe.config.method}-${String(recipe.config.seed)}-${randomUUID().slice(0, 8)}`;
    lease.describe({ kind: 'run', what: id });
    return runTraining(id, recipe.config, dependencies, control);
  };
  const onProgress = (done: number, total: number): void => {
    control.onProgress({
      run: null,
      stage: 'load',
      done,
      total,
      metrics: null,
      remainingSeconds: null,
      message: loadingWords(done, total),
    });
  };
  const loading = { onProgress, signal: control.signal };
  return evaluators.using(
    recipe,
    (evaluator) =>
      models.exclusively(
        recipe,
        (model) =>
          withRunRoles(models, prepared, model, { earlier, snapshotFolder }, loading, (lent) =>
            work(model, lent, evaluator),
          ),
        loading,
      ),
    ask,
  );
}

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
