/**
 * The capabilities of the interpreter. A WebAssembly program can only act through its imports, so this
 * table is the wall of the sandbox: while untrusted code runs, each import is passed on, answered
 * here, or refused. Imports that are not named are refused.
 */

import { CHANNEL, CLOCK } from './harness.ts';

/** Thrown to end the run of a candidate. */
export class Ended extends Error {
  readonly rule: string;
  /** True if the interpreter can be reset: the run was ended in order, by a call of the interpreter's. */
  readonly clean: boolean;

  constructor(rule: string, detail: string, clean = true) {
    super(detail);
    this.rule = rule;
    this.clean = clean;
  }
}

/**
 * Imports that are passed on: pure functions of the interpreter's own memory, and reading its own
 * library in its virtual file system.
 */
const PASSED = new Set([
  // Internals of the runtime.
  ...[
    '_Py_emscripten_runtime',
    '_PyEM_TrampolineCall_JS',
    'emscripten_get_heap_max',
    'JsvError_Check',
    'Jsv_GetError_import',
  ],
  // Calendars.
  ...['_tzset_js', '_localtime_js', '_gmtime_js', '_mktime_js', '_timegm_js'],
  // Reading files that were opened for reading.
  ...[
    '__syscall_fstat64',
    '__syscall_stat64',
    '__syscall_newfstatat',
    '__syscall_lstat64',
    '__syscall_faccessat',
    '__syscall_getcwd',
    '__syscall_getdents64',
    '__syscall_readlinkat',
  ],
  ...[
    '__syscall_getuid32_js',
    '__syscall_ioctl',
    '__syscall_fcntl64',
    'fd_close',
    'fd_seek',
    'fd_pread',
    'fd_fdstat_get',
    'environ_sizes_get',
    'environ_get',
  ],
]);

/** Error numbers of this C library. */
const ENOSYS = 52;
const EROFS = 69;
const EBADF = 8;
/** Bits of open(2): O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND. */
const WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000;

/**
 * The start of the clock in each run. It advances by one microsecond at each look, so that verdicts do
 * not depend on the time of day.
 */
const EPOCH_NANOSECONDS = 1_767_225_600_000_000_000n;
const TICK_NANOSECONDS = 1000n;
const LONGEST_SLEEP = 1e9;

/** Milliseconds between two checks of a run's time. */
const LOOK_MILLISECONDS = 10;

export interface Bounds {
  /** Seconds of processor time of this process for one run. */
  readonly seconds: number;
  /** Bytes of the interpreter's memory, and of printed output. */
  readonly memory: number;
  readonly output: number;
}

/** Imports that are fixed even during the start, so that the memory image is always the same. */
const FIXED = new Set(['random_get', 'emscripten_get_now', 'emscripten_date_now', 'clock_res_get', 'clock_time_get']);

function readProcessorMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

type Import = (...args: unknown[]) => unknown;

export class Capabilities {
  /** False while the interpreter starts: only its own code runs then. */
  armed = false;
  /** Sends the bytes written to the channel and returns the bytes to read; null without a channel. */
  private readonly exchange: ((request: Uint8Array) => Uint8Array) | null;
  private readonly bounds: Bounds;
  private memory: WebAssembly.Memory | null = null;
  private clock = 0n;
  private random = 0;
  private printed = 0;
  /** Microseconds of processor time at the start of this run; null before its first request. */
  private began: number | null = null;
  private looked = 0;
  private written: Uint8Array[] = [];
  private answer = new Uint8Array();

  constructor(bounds: Bounds, exchange: ((request: Uint8Array) => Uint8Array) | null) {
    this.bounds = bounds;
    this.exchange = exchange;
  }

  /** Sets the interpreter's memory once it exists. */
  connect(memory: WebAssembly.Memory): void {
    this.memory = memory;
  }

  /** Returns the next byte of a fixed stream. A linear congruential generator is enough for tests. */
  randomByte(): number {
    this.random = (Math.imul(this.random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.random >>> 24;
  }

  /** Resets the state as if nothing had run. */
  reset(): void {
    this.clock = 0n;
    this.random = 0;
    this.printed = 0;
    this.began = null;
    this.written = [];
    this.answer = new Uint8Array();
  }

  /** Starts to count the time of a run at its first request. */
  begin(): void {
    this.began ??= readProcessorMicroseconds();
  }

  /**
   * Returns the imports of one module with this wall around them. Only functions are guarded; the rest
   * are globals, memory and tables.
   */
  guard(imports: Readonly<Record<string, object>>): Record<string, object> {
    const guarded: Record<string, object> = { ...imports };
    for (const module of ['env', 'wasi_snapshot_preview1']) {
      const functions: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(imports[module] ?? {})) {
        functions[name] = typeof value === 'function' ? this.guarded(name, value as Import) : value;
      }
      guarded[module] = functions;
    }
    return guarded;
  }

  private guarded(name: string, original: Import): Import {
    if (PASSED.has(name)) {
      return original;
    }
    const answer = this.answers[name];
    const refuse = (): number => {
      if (name.startsWith('fd_')) {
        return ENOSYS;
      }
      if (name.startsWith('__syscall_')) {
        return -ENOSYS;
      }
      throw new Ended('forbidden', name.slice(0, 60));
    };
    return (...args: unknown[]) => {
      // All other imports are open to the interpreter while it starts.
      if (!this.armed && !FIXED.has(name)) {
        return original(...args);
      }
      if (answer === undefined) {
        return refuse();
      }
      return answer(original, args);
    };
  }

  private readonly answers: Readonly<Record<string, (original: Import, args: unknown[]) => unknown>> = {
    fd_write: (_, [fd, vectors, count, written]) => this.write(fd, vectors, count, written),
    fd_read: (original, args) => this.read(original, args),
    __syscall_openat: (original, args) => ((Number(args[2] ?? 0) & WRITING) === 0 ? original(...args) : -EROFS),
    emscripten_resize_heap: (original, args) => {
      if (Number(args[0]) >>> 0 > this.bounds.memory) {
        throw new Ended('memory-limit', 'asked for more memory than it may have');
      }
      return original(...args);
    },
    _Py_CheckEmscriptenSignals_Helper: () => this.look(),
    emscripten_get_now: () => Number(this.tick() - EPOCH_NANOSECONDS) / 1e6,
    emscripten_date_now: () => Number(this.tick() / 1_000_000n),
    clock_res_get: (_, [, at]) => this.put64(at, TICK_NANOSECONDS),
    clock_time_get: (_, args) => this.put64(args[args.length - 1], this.tick()),
    random_get: (_, [at, size]) => {
      const bytes = this.bytes(at, size);
      for (let index = 0; index < bytes.length; index++) {
        bytes[index] = this.randomByte();
      }
      return 0;
    },
    exit: (_, [code]) => this.exit(code),
    proc_exit: (_, [code]) => this.exit(code),
    _abort_js: () => {
      throw new Ended('crash', 'the interpreter gave up');
    },
    __assert_fail: () => {
      throw new Ended('crash', 'the interpreter gave up');
    },
  };

  private exit(code: unknown): never {
    throw new Ended('exit', `left the interpreter with ${String(code).slice(0, 20)}`);
  }

  /**
   * Ends a run that takes too long. Python calls this to check for signals, which do not exist here,
   * after some steps of a program. If it does not call, the parent ends the process.
   */
  private look(): number {
    const now = performance.now();
    if (this.began !== null && now - this.looked >= LOOK_MILLISECONDS) {
      this.looked = now;
      if (readProcessorMicroseconds() - this.began > this.bounds.seconds * 1e6) {
        throw new Ended('time-limit', `took more than ${this.bounds.seconds} s`);
      }
    }
    return 0;
  }

  private tick(): bigint {
    this.clock += TICK_NANOSECONDS;
    return EPOCH_NANOSECONDS + this.clock;
  }

  /** Moves the clock on by a number of seconds; sleeping takes no real time. */
  private sleep([piece]: readonly Uint8Array[]): void {
    if (piece?.length !== 8) {
      return;
    }
    const seconds = new DataView(piece.buffer, piece.byteOffset).getFloat64(0, true);
    if (seconds >= 0 && seconds <= LONGEST_SLEEP) {
      this.clock += BigInt(Math.round(seconds * 1e9));
    }
  }

  private view(): DataView {
    if (this.memory === null) {
      throw new Ended('crash', 'no memory');
    }
    return new DataView(this.memory.buffer);
  }

  private bytes(at: unknown, size: unknown): Uint8Array {
    if (this.memory === null) {
      throw new Ended('crash', 'no memory');
    }
    return new Uint8Array(this.memory.buffer, Number(at) >>> 0, Number(size) >>> 0);
  }

  private put64(at: unknown, value: bigint): number {
    this.view().setBigUint64(Number(at) >>> 0, value, true);
    return 0;
  }

  /** Returns the pieces of memory that a vector of (address, length) names. */
  private pieces(vectors: unknown, count: unknown): Uint8Array[] {
    const view = this.view();
    const first = Number(vectors) >>> 0;
    return Array.from({ length: Number(count) }, (_, index) =>
      this.bytes(view.getUint32(first + 8 * index, true), view.getUint32(first + 8 * index + 4, true)),
    );
  }

  private write(fd: unknown, vectors: unknown, count: unknown, written: unknown): number {
    const channel = fd === CHANNEL && this.exchange !== null;
    if (!channel && fd !== 1 && fd !== 2 && fd !== CLOCK) {
      return EBADF;
    }
    const pieces = this.pieces(vectors, count);
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (channel) {
      this.written.push(...pieces.map((piece) => piece.slice()));
    } else if (fd === CLOCK) {
      this.sleep(pieces);
    } else {
      this.printed += size;
      // Printed text is not kept; only its size counts.
      if (this.printed > this.bounds.output) {
        throw new Ended('output-limit', 'printed more than it may');
      }
    }
    this.view().setUint32(Number(written) >>> 0, size, true);
    return 0;
  }

  private read(original: Import, args: unknown[]): unknown {
    const [fd, vectors, count, read] = args;
    if (fd === CHANNEL && this.exchange !== null) {
      if (this.written.length > 0) {
        // The first eight bytes are the length of the request; the answer has the same form.
        const answer = this.exchange(new Uint8Array(Buffer.concat(this.written)).subarray(8));
        this.written = [];
        this.answer = new Uint8Array(8 + answer.length);
        new DataView(this.answer.buffer).setBigUint64(0, BigInt(answer.length), true);
        this.answer.set(answer, 8);
      }
      let size = 0;
      for (const piece of this.pieces(vectors, count)) {
        const part = this.answer.subarray(0, piece.length);
        piece.set(part);
        this.answer = this.answer.slice(part.length);
        size += part.length;
      }
      this.view().setUint32(Number(read) >>> 0, size, true);
      return 0;
    }
    if (fd === 0) {
      // Standard input is empty.
      this.view().setUint32(Number(read) >>> 0, 0, true);
      return 0;
    }
    return original(...args);
  }
}
