/**
 * Processes that own programs of a user's, or interpreters, in each way in which the product does. Every program does
 * all to outlive its owner: it ignores signals, holds its streams open, and starts children that leave its group and
 * its session.
 */

import assert from 'node:assert/strict';
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { connectToEngine } from '../../src/client/startEngine.ts';
import { EngineService } from '../../src/engine/service.ts';
import type { PythonBackend } from '../../src/evaluate/python/grader.ts';
import { InitializeRequest, PROTOCOL_VERSION, REQUESTS } from '../../src/shared/protocols/engineProtocol.ts';
import { createSocketConnection } from '../../src/shared/protocols/socketConnection.ts';
import { listProcessesBelow } from '../support/processes.ts';
import { programOf } from '../support/programs.ts';
import { makeWorkspace } from '../unit/engine/workspace.ts';
import { isSandbox } from './killer.ts';

/** How an owner is ended. */
export const ENDS = ['SIGTERM', 'SIGHUP', 'SIGKILL', 'cancel'] as const;
export type End = (typeof ENDS)[number];

/** An owner that is at work. */
export interface Owner {
  readonly pid: number;
  /** Ends it, and waits until nothing more is to be expected of it. */
  readonly end: (how: End) => Promise<void>;
}

export interface OwnerKind {
  readonly name: string;
  /** Programs of one owner; null for interpreters, whose environment is empty. */
  readonly programs: number | null;
  /** Makes what all trials have in common. @returns its folder */
  readonly prepare: () => Promise<string>;
  /** Starts an owner in a copy of that folder. @param env has the mark of the trial */
  readonly start: (folder: string, env: NodeJS.ProcessEnv) => Promise<Owner>;
  /** Whether its programs are all that they come to be. @param marked living processes of the trial but the owner */
  readonly isWhole: (owner: Owner, marked: number) => boolean;
}

/** Shells of a program: itself, a child, one of a session of its own, and a child of that; each has a sleep. */
const PROCESSES = 2 * 4;
const HOSTILE_FILE = 'hostile.sh';
const HOSTILE = `trap '' HUP INT TERM
stays() { trap '' HUP INT TERM; while :; do sleep 1000 </dev/null; done; }
stays &
setsid /bin/sh -c 'trap "" HUP INT TERM; (while :; do sleep 1000; done) & while :; do sleep 1000; done' &
stays
`;
const IN_ONE_PROCESS = fileURLToPath(new URL('ownedParent.ts', import.meta.url));
/** Milliseconds between two looks for an engine. */
const LOOK_EVERY = 20;
/** Programs that are graded; each computes until its time is over. */
const GRADED = 64;

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-owner-'));
  writeFileSync(join(folder, HOSTILE_FILE), HOSTILE);
  return folder;
}

/** An owner that is a command of `c3`: Ctrl+C cancels it. */
function command(folder: string, args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Owner {
  const child = spawn(process.execPath, [programOf('cli'), ...args], {
    cwd: folder,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.on('error', () => undefined).end(input);
  return owner(child, () => child.kill('SIGINT'));
}

function owner(child: ChildProcess, cancel: () => void): Owner {
  const exit = once(child, 'exit');
  return {
    pid: child.pid ?? assert.fail('it does not start'),
    end: async (how) => {
      if (how === 'cancel') {
        cancel();
      } else {
        child.kill(how);
      }
      await exit;
    },
  };
}

const wholeAt =
  (programs: number): OwnerKind['isWhole'] =>
  (_, marked) =>
    marked >= programs * PROCESSES;

/** Recording, a driver and a scorer in one process that hears no signal. */
const inOneProcess: OwnerKind = {
  name: 'all in one process',
  programs: 3,
  prepare: () => Promise.resolve(freshFolder()),
  start: (folder, env) => {
    const options: SpawnOptions = { env, stdio: ['pipe', 'pipe', 'inherit'] };
    const child = spawn(process.execPath, [IN_ONE_PROCESS, folder], options);
    child.stdin?.on('error', () => undefined);
    return Promise.resolve(owner(child, () => child.stdin?.write('cancel\n')));
  },
  isWhole: wholeAt(3),
};

const recordingCommand: OwnerKind = {
  name: 'c3 record',
  programs: 1,
  prepare: () => Promise.resolve(freshFolder()),
  start: (folder, env) => Promise.resolve(command(folder, ['record', '--', '/bin/sh', HOSTILE_FILE], env)),
  isWhole: wholeAt(1),
};

/** A run that is scored by a command; four messages at a time are. */
const scoredRun: OwnerKind = {
  name: 'c3 run with evaluator: command',
  programs: 4,
  prepare: async () => {
    const folder = await makeWorkspace();
    writeFileSync(join(folder, HOSTILE_FILE), HOSTILE);
    writeFileSync(
      join(folder, 'scored.c3.yaml'),
      `model: team
protocol: pair.json
task: {train_file: train.jsonl, evaluation_file: held.jsonl}
evaluator: command
scorer: {command: [/bin/sh, ${HOSTILE_FILE}], time_limit: 600}
steps: 1
instances_per_step: 4
sampling: {max_new_tokens: 2}
evaluation: {instances: 4}
device: {threads: 1}
`,
    );
    return folder;
  },
  start: (folder, env) =>
    Promise.resolve(command(folder, ['run', 'scored.c3.yaml'], { ...env, C3_ALLOW_COMMANDS: '1' })),
  isWhole: wholeAt(4),
};

/** A server that answers every call, as long as this process lives. @returns its address */
async function modelServer(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: '19' }, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ model: 'm', choices }));
    });
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}/v1`;
}

/** A recorded message that is replayed by a driver. */
const drivenReplay: OwnerKind = {
  name: 'c3 replay with a driver',
  programs: 1,
  prepare: async () => {
    const folder = freshFolder();
    const messages = [
      { role: 'user', content: 'How many?' },
      { role: 'assistant', name: 'planner', content: 'Add.' },
      { role: 'assistant', name: 'writer', content: '19' },
    ];
    writeFileSync(join(folder, 'log.jsonl'), JSON.stringify({ messages }));
    const policy = { endpoint: await modelServer(), model_name: 'm' };
    writeFileSync(
      join(folder, 'team.yaml'),
      JSON.stringify({ driver: ['/bin/sh', HOSTILE_FILE], policy, max_new_tokens: 8, time_limit: 600 }),
    );
    mkdirSync(join(folder, '.c3'));
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    try {
      await service.importLog({ path: join(folder, 'log.jsonl'), maskSecrets: false }, new AbortController().signal);
    } finally {
      await service.close();
    }
    return folder;
  },
  start: (folder, env) =>
    Promise.resolve(
      command(
        folder,
        ['replay', '1', '--alternatives', '1', '--replays', '1', '--text', 'Add.', '--team', 'team.yaml'],
        env,
      ),
    ),
  isWhole: wholeAt(1),
};

/** Interpreters that compute without an end. */
const graded = (backend: PythonBackend): OwnerKind => ({
  name: `c3 grade with ${backend}`,
  programs: null,
  prepare: () => Promise.resolve(freshFolder()),
  start: (folder, env) => {
    const line = (id: number): string =>
      JSON.stringify({ id, code: `def f(x):\n    while True: pass\n# ${id}`, tests: ['assert f(1) == 2'] });
    const input = `${Array.from({ length: GRADED }, (_, id) => line(id)).join('\n')}\n`;
    return Promise.resolve(command(folder, ['grade', '--kind', 'python', '--backend', backend], env, input));
  },
  isWhole: ({ pid }) => listProcessesBelow(pid).filter(isSandbox).length >= 2,
});

/** The engine of the editor, with a window that records. A window that goes takes its recording along. */
const windowEngine: OwnerKind = {
  name: 'the engine of a window that records',
  programs: 1,
  prepare: () => Promise.resolve(freshFolder()),
  start: async (folder, env) => {
    const store = join(folder, '.c3', 'c3.sqlite');
    mkdirSync(join(folder, '.c3'), { recursive: true });
    const child = spawn(process.execPath, [programOf('engine'), '--store', store], { env, stdio: 'ignore' });
    const exit = once(child, 'exit');
    let open = await connectToEngine(store);
    while (open === null) {
      await delay(LOOK_EVERY);
      open = await connectToEngine(store);
    }
    const socket = open;
    const connection = createSocketConnection(socket);
    connection.listen();
    await connection.sendRequest(InitializeRequest, { store, protocol: PROTOCOL_VERSION, client: 'window' });
    const cancelling = new CancellationTokenSource();
    const recorded = connection
      .sendRequest(
        REQUESTS.record,
        {
          command: ['/bin/sh', HOSTILE_FILE],
          folder,
          upstream: 'http://127.0.0.1:9/v1',
          serve: null,
          env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? ''])),
          maskSecrets: false,
          right: null,
        },
        cancelling.token,
      )
      .catch(() => undefined);
    return {
      pid: child.pid ?? 0,
      end: async (how) => {
        if (how === 'cancel') {
          cancelling.cancel();
          await recorded;
        } else {
          child.kill(how);
        }
        if (how === 'SIGHUP') {
          // What closes a window or a terminal does not end the engine.
          socket.destroy();
        }
        if (how === 'SIGTERM' || how === 'SIGKILL') {
          await exit;
        }
        connection.dispose();
        socket.destroy();
      },
    };
  },
  isWhole: wholeAt(1),
};

export const OWNER_KINDS: readonly OwnerKind[] = [
  inOneProcess,
  recordingCommand,
  scoredRun,
  drivenReplay,
  graded('bundled'),
  graded('python3'),
  windowEngine,
];

/** A copy of what was prepared, for one trial. */
export function copyFor(prepared: string, folder: string): void {
  cpSync(prepared, folder, { recursive: true });
}
