/** The engine as a process of its own, spoken to over its socket as the editor does. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { MessageConnection } from 'vscode-jsonrpc/node';
import { connectToEngine } from '../../../src/client/startEngine.ts';
import type { RunSummary } from '../../../src/domain/run.ts';
import {
  InitializeRequest,
  JobsChangedNotification,
  LogNotification,
  PROTOCOL_VERSION,
  REQUESTS,
  RunProgressNotification,
  type InitializeResult,
  type StartRunParams,
} from '../../../src/shared/protocols/engineProtocol.ts';
import type { JobList, RunJob, RunProgress } from '../../../src/shared/protocols/jobs.ts';
import { createSocketConnection } from '../../../src/shared/protocols/socketConnection.ts';
import { useOwnRuntimeFolder } from '../../support/engines.ts';
import { programOf } from '../../support/programs.ts';

const MAIN = programOf('engine');

export const runtime = useOwnRuntimeFolder();

/** What a job came to that did not come to its end. */
export class JobFailed extends Error {
  readonly job: RunJob;

  constructor(job: RunJob) {
    super(job.outcome?.kind === 'failed' ? job.outcome.message : 'cancelled');
    this.job = job;
  }
}

/** One client of an engine. */
export interface Door {
  readonly connection: MessageConnection;
  readonly hello: InitializeResult;
  readonly runs: RunProgress[];
  /** The newest list. */
  readonly list: () => JobList;
  /** Waits for run progress of which something holds. */
  readonly heard: (what: (progress: RunProgress) => boolean) => Promise<RunProgress>;
  /** Waits for a list of which something holds, the newest one among them. */
  readonly until: (what: (list: JobList) => boolean) => Promise<JobList>;
  /** The job's summary. @throws JobFailed */
  readonly ended: (job: RunJob) => Promise<RunSummary>;
  /** Asks for a run and waits for its end. @throws JobFailed */
  readonly run: (params: StartRunParams) => Promise<RunSummary>;
  readonly resume: (run: string) => Promise<RunSummary>;
  readonly log: () => string;
  readonly leave: () => Promise<void>;
}

export interface EngineProcess extends Door {
  readonly folder: string;
  readonly store: string;
  readonly pid: number;
  /** Resolves to the exit code. */
  readonly exit: Promise<number | null>;
}

/** Starts the engine of a workspace's store and connects to it. */
export async function startEngine(t: TestContext, folder: string, env: NodeJS.ProcessEnv = {}): Promise<EngineProcess> {
  const store = join(folder, '.c3', 'c3.sqlite');
  const child = spawn(process.execPath, [MAIN, '--store', store], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, ...env },
  });
  child.stderr.resume();
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  t.after(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const door = await openDoor(t, store);
  return { ...door, folder, store, pid: child.pid ?? 0, exit };
}

/** Connects to the engine that a store has, or is about to have. */
export async function openDoor(t: TestContext, store: string): Promise<Door> {
  let socket = await connectToEngine(store);
  while (socket === null) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    socket = await connectToEngine(store);
  }
  const open = socket;
  const closed = once(open, 'close');
  const connection = createSocketConnection(open);
  const runs: RunProgress[] = [];
  const [watching, listening] = [new Set<(progress: RunProgress) => void>(), new Set<(list: JobList) => void>()];
  let list: JobList = { jobs: [], unstarted: [] };
  const lines: string[] = [];
  connection.onNotification(RunProgressNotification, (progress) => {
    runs.push(progress);
    for (const tell of watching) {
      tell(progress);
    }
  });
  connection.onNotification(JobsChangedNotification, (now) => {
    list = now;
    for (const tell of listening) {
      tell(now);
    }
  });
  connection.onNotification(LogNotification, ({ line }) => {
    lines.push(line);
  });
  connection.listen();
  t.after(() => {
    open.destroy();
    connection.dispose();
  });
  const hello = await connection.sendRequest(InitializeRequest, {
    store,
    protocol: PROTOCOL_VERSION,
    client: 'window',
  });
  list = hello.list;
  lines.push(...hello.log);
  const until: Door['until'] = (what) =>
    new Promise((resolve) => {
      if (what(list)) {
        resolve(list);
        return;
      }
      const tell = (now: JobList): void => {
        if (!what(now)) {
          return;
        }
        listening.delete(tell);
        resolve(now);
      };
      listening.add(tell);
    });
  const ended: Door['ended'] = async ({ id }) => {
    const isIt = (job: RunJob): boolean => job.id === id && job.state === 'finished';
    const job = (await until(({ jobs }) => jobs.some(isIt))).jobs.find(isIt);
    if (job?.outcome?.kind !== 'done') {
      throw job === undefined ? new Error('no job') : new JobFailed(job);
    }
    return job.outcome.summary;
  };
  return {
    connection,
    hello,
    runs,
    until,
    ended,
    list: () => list,
    heard: (what) =>
      new Promise((resolve) => {
        watching.add((progress) => {
          if (what(progress)) {
            resolve(progress);
          }
        });
      }),
    run: async (params) => ended(await connection.sendRequest(REQUESTS.startRun, params)),
    resume: async (run) => ended(await connection.sendRequest(REQUESTS.resumeRun, { run })),
    log: () => lines.join('\n'),
    leave: async () => {
      open.destroy();
      await closed;
    },
  };
}
