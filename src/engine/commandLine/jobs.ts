/** `c3 run --detach`, `c3 status` and `c3 cancel`: runs in the engine of a store. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEngineClient, type EngineClient } from '../../client/engineClient.ts';
import type { EngineEvents } from '../../client/engineConnection.ts';
import { shownStatus } from '../../domain/run.ts';
import { C3Error } from '../../shared/errors.ts';
import type { JobList, RunJob, UnstartedJob } from '../../shared/protocols/jobs.ts';
import { describeStoreHolder, type StoreHolder } from '../../shared/protocols/storeHolder.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatRemaining } from '../../shared/text/times.ts';
import { lockHolder } from '../../store/files/lock.ts';
import { openStoreForReading } from '../../store/read/reader.ts';
import { ENGINE_ENTRY } from '../places.ts';
import { readRecipe } from '../recipe/recipe.ts';
import { cancelElsewhere } from '../server/elsewhere.ts';
import { QueueFile, toUnstartedJob } from '../server/queueFile.ts';
import { VERSION } from '../version.ts';
import type { CommandContext } from './command.ts';
import type { Given, Named, OptionsGiven } from './declared/declaration.ts';
import type { STORE_AND_JSON } from './declared/options.ts';
import type { CANCEL, STATUS } from './declared/runs.ts';
import { resolveStorePath } from './support.ts';

const LONGEST_TITLE = 60;
const PAGE = 200;

/** An unfinished run whose process is gone. */
interface InterruptedRun {
  readonly run: string;
  readonly title: string;
  readonly step: number;
  readonly steps: number;
}

interface Status extends JobList {
  readonly store: string;
  /** Null if no engine runs. */
  readonly engine: { readonly pid: number; readonly version: string } | null;
  /** The process that writes the store now, or null. */
  readonly holder: StoreHolder | null;
  readonly interrupted: readonly InterruptedRun[];
}

const SILENT: EngineEvents = {
  log: () => undefined,
  jobs: () => undefined,
  runProgress: () => undefined,
  replayProgress: () => undefined,
  verifyProgress: () => undefined,
  testModelProgress: () => undefined,
  waiting: () => undefined,
  ready: () => undefined,
  ended: () => undefined,
};

/** Connects to the engine of a store for one piece of work. */
async function withEngine<Result>(
  store: string,
  work: (client: EngineClient) => Promise<Result>,
  events: Partial<EngineEvents> = {},
): Promise<Result> {
  const client = createEngineClient(
    { script: fileURLToPath(ENGINE_ENTRY), store, kind: 'command', version: VERSION },
    { ...SILENT, ...events },
  );
  try {
    return await work(client);
  } finally {
    await client.dispose();
  }
}

/** The arguments of a command that prints one answer from a store. */
type AnswerGiven = OptionsGiven<typeof STORE_AND_JSON> & { readonly named: Named<'store'> };

/** The run that `c3 run --detach` hands over: a new one, a stored one, or a job that never began. */
export interface DetachedRun {
  readonly config: string | null;
  readonly overrides: readonly string[];
  readonly resumed: string | null;
  readonly again: string | null;
}

/** Hands a run to the store's engine, and prints how to follow it. */
export async function detachRun(
  { config, overrides, resumed, again }: DetachedRun,
  given: AnswerGiven,
  context: CommandContext,
): Promise<void> {
  const store = resolveStorePath(given, context);
  const { folder, print } = context;
  const file = config === null ? null : resolve(folder, config);
  // Configurations that cannot run are refused before an engine is started.
  if (resumed === null && again === null) {
    await readRecipe(file, overrides, folder);
  }
  const [job, list] = await withEngine(store, async (client) => {
    const asked =
      again !== null
        ? await client.restartJob({ job: again })
        : resumed !== null
          ? await client.resumeRun({ run: resumed })
          : await client.startRun({ config: file, overrides, folder });
    return [asked, await client.jobs()] as const;
  });
  if (given.json) {
    print(JSON.stringify(job));
    return;
  }
  const open = list.jobs.filter(({ state }) => state !== 'finished');
  const ahead = open.findIndex(({ id }) => id === job.id);
  print(
    `${job.id}: "${toOneLine(job.title, LONGEST_TITLE)}" ${ahead > 0 ? `is queued behind ${ahead} ${ahead === 1 ? 'run' : 'runs'}` : 'starts'}; it continues when this terminal is closed.`,
  );
  print(
    `Follow it with c3 status${formatStoreOption(given)}, stop it with c3 cancel ` +
      `${job.id}${formatStoreOption(given)}; in VS Code it shows in the C3 view of its folder.`,
  );
}

/** Returns `--store PATH` as it was given, for commands that a message suggests. */
const formatStoreOption = ({ store, named }: AnswerGiven): string => (named.has('store') ? ` --store ${store}` : '');

export async function status(given: Given<typeof STATUS>, context: CommandContext): Promise<void> {
  const { print } = context;
  const found = await readStatus(resolveStorePath(given, context));
  print(given.json ? JSON.stringify(found) : formatStatus(found, formatStoreOption(given)));
}

/** Returns the work in progress on a store. Does not start an engine. */
async function readStatus(store: string): Promise<Status> {
  let engine: Status['engine'] = null;
  const list = await withEngine(store, async (client) => ((await client.attach()) ? client.jobs() : null), {
    ready: ({ pid, version }) => {
      engine = { pid, version };
    },
  });
  const { jobs, unstarted: lost } = list ?? {
    jobs: [],
    unstarted: new QueueFile(store)
      .read()
      .filter(({ begun }) => !begun)
      .map(toUnstartedJob),
  };
  const holder = lockHolder(store);
  return { store, engine, holder, jobs, unstarted: lost, interrupted: listInterruptedRuns(store, holder !== null) };
}

function listInterruptedRuns(path: string, beingWritten: boolean): readonly InterruptedRun[] {
  if (!existsSync(path)) {
    return [];
  }
  const store = openStoreForReading(path);
  try {
    const found: InterruptedRun[] = [];
    const total = store.countRuns();
    for (let offset = 0; offset < total; offset += PAGE) {
      for (const run of store.runs(offset, PAGE)) {
        if (shownStatus(run, beingWritten) === 'interrupted') {
          found.push({ run: run.id, title: run.title, step: run.steps, steps: run.plannedSteps });
        }
      }
    }
    return found;
  } finally {
    store.close();
  }
}

function formatStatus({ store, engine, holder, jobs, unstarted: lost, interrupted }: Status, option: string): string {
  const lines = jobs.map(formatJob);
  const inJobs = jobs.some(({ state, run }) => state === 'running' && run !== null && run === holder?.purpose?.what);
  if (holder !== null && !inJobs) {
    lines.push(`The store is being written by ${describeStoreHolder(holder)}.`);
  }
  for (const one of lost) {
    lines.push(
      `${one.id.padEnd(10)}not started: its engine ended before its turn. Start it again with c3 run --again ${one.id}${option}, or remove it with c3 cancel ${one.id}${option} (${formatUnstartedJob(one)})`,
    );
  }
  for (const { run, title, step, steps } of interrupted) {
    lines.push(
      `Run ${run} "${toOneLine(title, LONGEST_TITLE)}" was interrupted at step ${step} of ${steps}: c3 run --resume ${run}${option}`,
    );
  }
  if (lines.length === 0) {
    lines.push(
      `Nothing is in progress in ${store}${engine === null ? '' : `; its engine (process ${engine.pid}) is idle`}.`,
    );
  }
  return lines.join('\n');
}

function formatUnstartedJob({ title, config, run }: UnstartedJob): string {
  return `"${toOneLine(title, LONGEST_TITLE)}"${run !== null ? `, run ${run}` : config === null ? '' : `, ${config}`}`;
}

/** Formats one job on one line: its name, its state, and the remaining time. */
function formatJob({ id, state, run, title, waitingFor, progress, outcome }: RunJob): string {
  const remaining = formatRemaining(progress?.remainingSeconds ?? null);
  const status =
    state === 'queued'
      ? 'queued'
      : state === 'running'
        ? `running  ${waitingFor ?? progress?.message ?? 'starting'}${remaining === '' ? '' : `, ${remaining}`}`
        : outcome?.kind === 'failed'
          ? `failed  ${outcome.message}`
          : (outcome?.kind ?? 'finished');
  return `${id.padEnd(10)}"${toOneLine(title, LONGEST_TITLE)}"${run === null ? '' : `  ${run}`}  ${status}`;
}

export async function cancel(given: Given<typeof CANCEL>, context: CommandContext): Promise<void> {
  const { print, note } = context;
  const name = given.job;
  const store = resolveStorePath(given, context);
  const asked = await withEngine(store, async (client) =>
    (await client.attach()) ? (await client.cancelRun({ job: name })).cancelled : null,
  );
  const cancelled =
    asked ?? (cancelElsewhere(store, name) ? 'elsewhere' : removeUnstartedJob(store, name) ? 'unstarted' : null);
  if (cancelled === null) {
    throw new C3Error(
      'input',
      `Nothing named ${JSON.stringify(name.slice(0, 80))} is in progress or queued in ${store}: see \`c3 status\`.`,
    );
  }
  if (given.json) {
    print(JSON.stringify({ cancelled }));
  } else if (cancelled === 'unstarted') {
    print(`${name} was removed.`);
  } else {
    print(
      cancelled === 'queued'
        ? `${name} was cancelled before it started.`
        : `${name} is being cancelled; what is stored stays.`,
    );
  }
  if (cancelled === 'elsewhere') {
    note('Its process was asked to stop, as Ctrl+C in its terminal does.');
  }
}

/** Removes a job that never began from the queue file of an engine that is gone. */
function removeUnstartedJob(store: string, id: string): boolean {
  const file = new QueueFile(store);
  const entries = file.read();
  const rest = entries.filter((entry) => entry.id !== id);
  if (rest.length === entries.length) {
    return false;
  }
  file.write(rest);
  return true;
}
