/** Whole runs of a tiny team on the real runtime, in a folder of their own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import type { RunSummary } from '../../../src/domain/run.ts';
import { answerEvaluator, type Evaluator } from '../../../src/evaluate/evaluator.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import type { Environments } from '../../../src/replay/unfold.ts';
import { ModelHost } from '../../../src/runtime/host.ts';
import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import type { RunProgress } from '../../../src/shared/protocols/jobs.ts';
import { openStoreForWriting, type StoreWriter } from '../../../src/store/write/writer.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain, type Renderer } from '../../../src/team/render.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import type { Method } from '../../../src/training/methods/method.ts';
import type { RunControl } from '../../../src/training/runContext.ts';
import { resumeTraining, runTraining } from '../../../src/training/startRun.ts';
import type { RestoreInput } from '../../../src/training/state/restore.ts';
import { makeTeam, PAIR, sums } from './tinyTeam.ts';

export function temporaryFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-tiny-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A tiny team's folder, made once for a test file. */
export async function teamFolder(): Promise<{ readonly folder: string; readonly remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-team-'));
  await makeTeam(folder);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export const TINY_CONFIG =
  'steps: 2\ninstances_per_step: 3\nsampling: {max_new_tokens: 6}\nppo: {learning_rate: 0.002}\ndevice: {threads: 1}\n';

export interface TinyRunOptions {
  readonly id?: string;
  readonly protocol?: Protocol;
  /** Plain text unless given. */
  readonly render?: Renderer;
  readonly overrides?: readonly string[];
  readonly evaluator?: Evaluator;
  /** The one that the configuration names unless given. */
  readonly method?: Method;
  readonly train?: readonly Problem[];
  readonly evaluation?: readonly Problem[];
  readonly control?: Partial<RunControl>;
  /** False: what is determined by an equal result is paid for all the same. */
  readonly reuse?: boolean;
  /** The bundled ones unless given. */
  readonly environments?: Environments;
  /** Wraps the runtime, to watch it or to break it. */
  readonly wrap?: (runtime: ModelRuntime) => ModelRuntime;
}

export interface TinyRun {
  readonly store: StoreWriter;
  readonly progress: RunProgress[];
  readonly host: ModelHost;
  readonly base: string;
  readonly snapshotFolder: string;
  /** Starts the run; its id is `run-1` unless given. */
  readonly start: (options?: TinyRunOptions) => Promise<RunSummary>;
  /** Continues a run that was interrupted. */
  readonly resume: (options?: TinyRunOptions) => Promise<RunSummary>;
  /** What executes steps of `run-1` again. */
  readonly restoring: (options: Pick<TinyRunOptions, 'overrides' | 'method'>) => RestoreInput;
  /** Gives the runtime back before the end of the test, to a test that makes many runs. */
  readonly giveBack: () => Promise<void>;
}

/** Runtimes that nobody uses: they hold no weights, but their graphs are compiled. */
const idle: ModelHost[] = [];
after(async () => {
  for (const host of idle) {
    await host.close();
  }
});

/** A store of its own, and a runtime that nobody else uses meanwhile, with the team loaded and no other weights. */
export async function tinyWorld(t: TestContext, team: string): Promise<TinyRun> {
  const folder = temporaryFolder(t);
  const store = openStoreForWriting(join(folder, 'c3.sqlite'));
  const host = idle.pop() ?? new ModelHost({ threads: 1 });
  let borrowed = true;
  const giveBack = async (): Promise<void> => {
    if (borrowed) {
      borrowed = false;
      for (const snapshot of await host.snapshots()) {
        await host.releaseSnapshot(snapshot);
      }
      idle.push(host);
    }
  };
  t.after(async () => {
    store.close();
    await giveBack();
  });
  const progress: RunProgress[] = [];
  const {
    snapshot: base,
    config: { maxPositions },
  } = await host.load(team);
  const tokenizer = await loadTokenizer(team);
  let ticks = 0;
  const execute = (
    work: typeof runTraining,
    {
      id = 'run-1',
      protocol = PAIR,
      overrides = [],
      evaluator = answerEvaluator,
      train = sums(6),
      evaluation = sums(6, 100),
      control = {},
      wrap = (runtime: ModelRuntime) => runtime,
      render = renderPlain,
      reuse,
      environments,
      method,
    }: TinyRunOptions = {},
  ): Promise<RunSummary> =>
    work(
      id,
      readConfig(TINY_CONFIG, 'tiny.c3.yaml', overrides),
      {
        store,
        runtime: wrap(host),
        base,
        tokenizer,
        protocol,
        render,
        maxPositions,
        evaluator,
        train,
        evaluation,
        recipe: '{}',
        modelFolder: team,
        snapshotFolder: folder,
        clock: () => ticks++,
        expected: { episode: 1, step: 1, known: false },
        now: () => '2026-01-01T00:00:00.000Z',
        ...(reuse !== undefined && { reuse }),
        ...(environments !== undefined && { environments }),
        ...(method !== undefined && { method }),
      },
      { signal: new AbortController().signal, onProgress: (one) => progress.push(one), ...control },
    );
  return {
    store,
    progress,
    host,
    base,
    snapshotFolder: folder,
    start: (options) => execute(runTraining, options),
    resume: (options) => execute(resumeTraining, options),
    restoring: ({ overrides = [], method }) => ({
      run: 'run-1',
      config: readConfig(TINY_CONFIG, 'tiny.c3.yaml', overrides),
      store,
      runtime: host,
      tokenizer,
      protocol: PAIR,
      render: renderPlain,
      maxPositions,
      base,
      snapshotFolder: folder,
      signal: new AbortController().signal,
      onStep: () => undefined,
      ...(method !== undefined && { method }),
    }),
    giveBack,
  };
}
