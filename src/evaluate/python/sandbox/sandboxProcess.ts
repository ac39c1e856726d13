/** The parent's side of one sandbox: a child process that answers one request at a time. */

import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killOwned, spawnOwned } from '../../../files/ownedProcess.ts';
import type { PythonLimits } from '../rules.ts';
import { splitFrame, FrameReader, type Frame } from './frames.ts';

/** The locations of a sandbox's program and interpreter. */
export interface SandboxPlaces {
  /** The program: sandbox.ts, or its bundle. */
  readonly entry: URL;
  /** The folder of the package pyodide; null if it is not installed. */
  readonly pyodide: string | null;
  /** The memory image made with the bundle. If it is null or missing, each engine makes its own. */
  readonly image: URL | null;
}

/** The command that starts a sandbox. */
export interface SandboxCommand {
  readonly line: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** True if every end of the program in it is reported, so that an unreported end came from outside. */
  readonly guarded: boolean;
  /** Extra seconds in which the program in it can end a run itself, after which it can be reset. */
  readonly patience: number;
}

/** Only a process for tests has a channel to a candidate's process. */
export type SandboxRole = 'candidate' | 'tests';

/** Thrown for a sandbox that did not start, or ended without a message. */
export class SandboxFailure extends Error {
  /** True if something outside ended it, such as low memory; this says nothing about a candidate. */
  readonly outside: boolean;

  constructor(message: string, outside = false) {
    super(message);
    this.outside = outside;
  }
}

/** Thrown if the program in the sandbox took longer than allowed; the process has been ended. */
export class OutOfTime extends Error {}

/** Seconds of processor time after which a process is replaced. */
const LIFETIME = 60;
/**
 * Seconds of processor time that the system allows beyond that and the last candidate, so that no
 * orphan in an endless loop lives long.
 */
const GRACE = 30;
const START_SECONDS = 120;
/** The wall-clock limit of a program that waits without computing, as a multiple of its seconds. */
const WALL_FACTOR = 10;
const WATCH_MILLISECONDS = 50;
const PATIENCE = 0.1;
/** Shell limits for the process: no core dump, no growing file, and limited processor time. */
const ENCLOSE = 'ulimit -c 0; ulimit -f 0; ulimit -t "$1"; shift; exec "$@"';
/** Ticks per second in /proc, fixed by Linux's interface. */
const TICKS = 100;

/** Signals of a process's own faults. A sandbox has no privilege to send itself any other signal. */
const OWN_SIGNALS: readonly NodeJS.Signals[] = [
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGILL',
  'SIGSEGV',
  'SIGSYS',
  'SIGTRAP',
  'SIGXCPU',
];

/**
 * Returns the command for the interpreter in WebAssembly, in a Node process without any permissions.
 * @throws SandboxFailure if it is not installed
 */
function makeBundledCommand(
  { entry, pyodide }: SandboxPlaces,
  role: SandboxRole,
  { seconds, memory, output, message }: PythonLimits,
): SandboxCommand {
  if (pyodide === null) {
    throw new SandboxFailure('the package pyodide is not installed');
  }
  const program = fileURLToPath(entry);
  const node = [
    process.execPath,
    '--permission',
    `--allow-fs-read=${pyodide}`,
    `--allow-fs-read=${dirname(program)}`,
    '--disallow-code-generation-from-strings',
    '--no-warnings',
    '--max-old-space-size=512',
    ...[program, pyodide, role, ...[seconds, memory * 2 ** 20, output, message].map(String)],
  ];
  const line =
    process.platform === 'win32'
      ? node
      : ['/bin/sh', '-c', ENCLOSE, 'sandbox', String(Math.ceil(LIFETIME + seconds + GRACE)), ...node];
  return {
    line,
    env: process.versions['electron'] === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' },
    folder: pyodide,
    guarded: false,
    patience: PATIENCE,
  };
}

export class SandboxProcess {
  readonly role: SandboxRole;
  private readonly child: ChildProcess;
  private readonly patience: number;
  private readonly reader = new FrameReader();
  private waiting: { readonly resolve: (frame: Frame) => void; readonly reject: (error: Error) => void } | null = null;
  /** The reason why the process has ended; null while it lives. */
  private failure: Error | null = null;
  /** Total seconds allowed until the next reset, and the wall-clock seconds used of them. */
  private allowed = START_SECONDS;
  private processorBegan: number | null = null;
  private spent: number | null = null;
  private clockUsed = 0;

  private constructor({ line, env, folder, guarded, patience }: SandboxCommand, role: SandboxRole) {
    this.role = role;
    this.patience = patience;
    // Its environment has no mark, because the program in it could see the mark. It needs none: it has no
    // permission to leave its group.
    this.child = spawnOwned(env, ({ detached }) =>
      spawn(line[0] ?? '', line.slice(1), {
        stdio: ['pipe', 'pipe', 'ignore'],
        detached,
        env,
        cwd: folder,
        windowsHide: true,
      }),
    );
    // Writing to an ended process fails here; 'close' has the error to report.
    this.child.stdin?.on('error', () => undefined);
    this.child.stdout?.on('data', (piece: Buffer) => this.receive(piece));
    this.child.on('error', (error) =>
      this.end(new SandboxFailure(`the sandbox's process did not start: ${error.message}`)),
    );
    this.child.on('close', (code, signal) => {
      const outside = guarded || (signal !== null && !OWN_SIGNALS.includes(signal));
      this.end(new SandboxFailure(`the sandbox's process ended with ${signal ?? `code ${String(code)}`}`, outside));
    });
  }

  /**
   * Makes the memory image from which sandboxes start. It depends only on the program and the package
   * pyodide, and takes seconds to make.
   * @param onBegun receives its process, so that it can be ended
   * @throws SandboxFailure
   */
  static async image(
    places: SandboxPlaces,
    limits: PythonLimits,
    onBegun: (sandbox: SandboxProcess) => void,
  ): Promise<Uint8Array> {
    const sandbox = new SandboxProcess(makeBundledCommand(places, 'candidate', limits), 'candidate');
    onBegun(sandbox);
    const { content } = await sandbox.started('M', new Uint8Array());
    sandbox.kill();
    return content;
  }

  /**
   * Starts a sandbox.
   * @param onBegun receives it before it is ready
   * @throws SandboxFailure if it does not start, or if the machine gives no isolation
   */
  static start(
    places: SandboxPlaces,
    role: SandboxRole,
    limits: PythonLimits,
    image: Uint8Array,
    onBegun: (sandbox: SandboxProcess) => void,
  ): Promise<SandboxProcess> {
    return SandboxProcess.begin(makeBundledCommand(places, role, limits), role, image, onBegun);
  }

  /**
   * Starts a sandbox of any kind.
   * @param image the memory image to start from; empty if it needs none
   * @throws SandboxFailure as above
   */
  static async begin(
    command: SandboxCommand,
    role: SandboxRole,
    image: Uint8Array,
    onBegun: (sandbox: SandboxProcess) => void,
  ): Promise<SandboxProcess> {
    const sandbox = new SandboxProcess(command, role);
    onBegun(sandbox);
    await sandbox.started('S', image);
    return sandbox;
  }

  private async started(kind: string, content: Uint8Array): Promise<Frame> {
    try {
      const frame = await this.exchange(kind, content);
      if (frame.kind !== (kind === 'M' ? 'M' : 'O')) {
        throw new SandboxFailure(
          `the sandbox cannot work here: ${new TextDecoder().decode(frame.content).slice(0, 300)}`,
        );
      }
      return frame;
    } catch (error) {
      this.kill();
      throw error instanceof OutOfTime ? new SandboxFailure('the sandbox did not start in time') : error;
    }
  }

  get usable(): boolean {
    return this.failure === null;
  }

  /**
   * Sets the time that all exchanges together may take from now on: seconds of processor time if the
   * system reports it (Linux), else of wall-clock time.
   */
  allow(seconds: number): void {
    this.allowed = seconds;
    this.processorBegan = this.processorSeconds();
    this.clockUsed = 0;
  }

  /**
   * Sends one message and waits for the reply.
   * @throws OutOfTime
   * @throws SandboxFailure if the process ended without a message
   */
  async exchange(kind: string, content: Uint8Array): Promise<Frame> {
    if (this.failure !== null) {
      throw this.failure;
    }
    const reply = new Promise<Frame>((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
    const began = performance.now();
    const watch = setInterval(() => this.checkTime(began), WATCH_MILLISECONDS);
    for (const piece of splitFrame(kind, content)) {
      this.child.stdin?.write(piece);
    }
    try {
      return await reply;
    } finally {
      clearInterval(watch);
      this.clockUsed += (performance.now() - began) / 1000;
    }
  }

  private checkTime(began: number): void {
    const clock = this.clockUsed + (performance.now() - began) / 1000;
    const now = this.processorBegan === null ? null : this.processorSeconds();
    const used = this.processorBegan === null || now === null ? clock : now - this.processorBegan;
    if (used > this.allowed + this.patience || clock > this.allowed * WALL_FACTOR) {
      this.end(this.outOfTime());
    }
  }

  private outOfTime(): OutOfTime {
    return new OutOfTime(`took more than ${this.allowed} s`);
  }

  /**
   * Returns the processor seconds of the process, or the last known value if it has ended; null if the
   * system does not report them.
   */
  processorSeconds(): number | null {
    if (process.platform !== 'linux' || this.failure !== null) {
      return this.spent;
    }
    try {
      // Fields 14 and 15 (utime, stime). The second field, the command's name, may contain spaces and ends
      // with a bracket.
      const stat = readFileSync(`/proc/${String(this.child.pid)}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      this.spent = (Number(fields[11]) + Number(fields[12])) / TICKS;
      return this.spent;
    } catch {
      return null;
    }
  }

  /**
   * Resets the interpreter.
   * @returns false if this sandbox is used up
   */
  async reset(): Promise<boolean> {
    if (this.failure === null && (this.processorSeconds() ?? 0) < LIFETIME) {
      this.allow(START_SECONDS);
      try {
        if ((await this.exchange('R', new Uint8Array())).kind === 'O') {
          return true;
        }
      } catch {
        // It has ended: a new one takes its place.
      }
    }
    this.kill();
    return false;
  }

  kill(): void {
    this.end(new SandboxFailure('the sandbox was ended'));
  }

  private receive(piece: Buffer): void {
    let frames: Frame[];
    try {
      frames = this.reader.push(piece);
    } catch (error) {
      this.end(new SandboxFailure(error instanceof Error ? error.message : 'unreadable'));
      return;
    }
    for (const { kind, content } of frames) {
      const waiting = this.waiting;
      this.waiting = null;
      if (waiting === null) {
        this.end(new SandboxFailure('the sandbox spoke without being asked'));
      } else if (kind === 'T') {
        waiting.reject(this.outOfTime());
      } else {
        waiting.resolve({ kind, content: content.slice() });
      }
      // F is the last message of a process.
      if (kind === 'F') {
        this.kill();
      }
    }
  }

  private end(failure: Error): void {
    if (this.failure !== null) {
      return;
    }
    this.processorSeconds();
    this.failure = failure;
    killOwned(this.child);
    this.waiting?.reject(failure);
    this.waiting = null;
  }
}
