/** The parent's end of one sandbox: a child process that answers one request at a time. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killOwned, spawnOwned } from '../../../files/ownedProcess.ts';
import type { PythonLimits } from '../rules.ts';
import { framePieces, FrameReader, type Frame } from './frames.ts';

/** Where a sandbox finds its program and its interpreter. */
export interface SandboxPlaces {
  /** The program: sandbox.ts, or its bundle. */
  readonly entry: URL;
  /** The folder of the package pyodide; null where it is not installed. */
  readonly pyodide: string | null;
  /** The file of the memory image that was made with the bundle; null, or no file, where each engine makes its own. */
  readonly image: URL | null;
}

/** What is started as a sandbox. */
export interface SandboxCommand {
  readonly line: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Whether every end of what runs in it is reported: one without a word came from outside. */
  readonly guarded: boolean;
  /** Seconds beyond its time in which what runs in it ends a run itself, and can be put back then. */
  readonly patience: number;
}

/** Only a process for tests has a channel to a candidate's. */
export type SandboxRole = 'candidate' | 'tests';

/** A sandbox that did not start, or ended without a word. */
export class SandboxFailure extends Error {
  /** Whether something outside ended it, such as a system short of memory: nothing is known of a candidate. */
  readonly outside: boolean;

  constructor(message: string, outside = false) {
    super(message);
    this.outside = outside;
  }
}

/** What ran in the sandbox took longer than it may; the process has been ended. */
export class OutOfTime extends Error {}

/** Seconds of processor time after which a process is replaced. */
const LIFETIME = 60;
/** What the system lets a process use beyond that and its last candidate: no orphan in an endless loop lives long. */
const GRACE = 30;
const START_SECONDS = 120;
/** What waits without computing ends after this many times its seconds by the clock. */
const WALL_FACTOR = 10;
const WATCH_MILLISECONDS = 50;
const PATIENCE = 0.1;
/** What a shell lays around the process: no core, no file that grows, and limited processor time. */
const ENCLOSE = 'ulimit -c 0; ulimit -f 0; ulimit -t "$1"; shift; exec "$@"';
/** Ticks per second in /proc, fixed by Linux's interface. */
const TICKS = 100;

/** What a process dies of by itself. No right that a sandbox has sends it any other signal. */
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
 * The interpreter in WebAssembly, in a Node process that has no right left.
 * @throws SandboxFailure where it is not installed
 */
function bundledCommand(
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
  /** Why its process has ended; null while it lives. */
  private failure: Error | null = null;
  /** Time that is allowed in all until the next reset, and what of the clock has been used. */
  private allowed = START_SECONDS;
  private processorBegan: number | null = null;
  private spent: number | null = null;
  private clockUsed = 0;

  private constructor({ line, env, folder, guarded, patience }: SandboxCommand, role: SandboxRole) {
    this.role = role;
    this.patience = patience;
    // Its environment has no mark, which what runs in it could see. It needs none: it has no right to leave its group.
    this.child = spawnOwned(env, ({ detached }) =>
      spawn(line[0] ?? '', line.slice(1), {
        stdio: ['pipe', 'pipe', 'ignore'],
        detached,
        env,
        cwd: folder,
        windowsHide: true,
      }),
    );
    // Writing to a process that has ended: 'close' says what is to be reported.
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
   * The memory image from which sandboxes start: it depends on the program and the package pyodide only, and making it
   * takes seconds.
   * @param onBegun gets its process, so that it can be ended
   * @throws SandboxFailure
   */
  static async image(
    places: SandboxPlaces,
    limits: PythonLimits,
    onBegun: (sandbox: SandboxProcess) => void,
  ): Promise<Uint8Array> {
    const sandbox = new SandboxProcess(bundledCommand(places, 'candidate', limits), 'candidate');
    onBegun(sandbox);
    const { content } = await sandbox.started('M', new Uint8Array());
    sandbox.kill();
    return content;
  }

  /**
   * A started sandbox.
   * @param onBegun gets it before it is ready
   * @throws SandboxFailure when it does not start or the machine gives no isolation
   */
  static start(
    places: SandboxPlaces,
    role: SandboxRole,
    limits: PythonLimits,
    image: Uint8Array,
    onBegun: (sandbox: SandboxProcess) => void,
  ): Promise<SandboxProcess> {
    return SandboxProcess.begin(bundledCommand(places, role, limits), role, image, onBegun);
  }

  /**
   * A started sandbox of any kind.
   * @param image what it starts from; empty where it needs nothing
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

  /** True while it can be asked. */
  get usable(): boolean {
    return this.failure === null;
  }

  /**
   * What all exchanges may take together from now on: seconds of the processor, where the system says them (Linux),
   * else of the clock.
   */
  allow(seconds: number): void {
    this.allowed = seconds;
    this.processorBegan = this.processorSeconds();
    this.clockUsed = 0;
  }

  /**
   * Sends one message and waits for the reply.
   * @throws OutOfTime
   * @throws SandboxFailure when the process ended without a word
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
    for (const piece of framePieces(kind, content)) {
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

  /** Processor seconds that the process has used, as last seen of one that has ended; null where no system says it. */
  processorSeconds(): number | null {
    if (process.platform !== 'linux' || this.failure !== null) {
      return this.spent;
    }
    try {
      // Fields 14 and 15 (utime, stime); the second, the command's name, may hold spaces and ends with a bracket.
      const stat = readFileSync(`/proc/${String(this.child.pid)}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      this.spent = (Number(fields[11]) + Number(fields[12])) / TICKS;
      return this.spent;
    } catch {
      return null;
    }
  }

  /** Puts the interpreter back to its start. @returns false when this sandbox is used up */
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
      // F is a process's last word.
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
