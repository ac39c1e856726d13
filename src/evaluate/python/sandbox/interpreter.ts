/** One resettable Python interpreter in WebAssembly, behind its wall, in the sandbox's process. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Ended, type Capabilities } from './capabilities.ts';
import { HARNESS, HARNESS_MODULE } from './harness.ts';

interface Stream {
  readonly position: number;
  readonly flags: number;
}

interface FileSystem {
  readonly streams: readonly (Stream | null | undefined)[];
  close(stream: Stream): void;
  cwd(): string;
  unlink(path: string): void;
  createDevice(folder: string, name: string, input: () => number): unknown;
}

/** The used part of the package pyodide. */
interface Pyodide {
  runPython(code: string): unknown;
  makeMemorySnapshot(): Uint8Array;
  readonly FS: FileSystem;
}
type LoadPyodide = (options: object) => Promise<Pyodide>;

/** Memory that has grown by more than this is released by ending the process; less growth is cleared. */
const KEPT_GROWTH = 64 << 20;

type Pointer = number;

/** The functions of CPython and its C library that are called here. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly __indirect_function_table: WebAssembly.Table;
  PyBytes_FromStringAndSize(text: Pointer, size: number): Pointer;
  PyBytes_AsString(bytes: Pointer): Pointer;
  PyBytes_Size(bytes: Pointer): number;
  PyImport_AddModule(name: Pointer): Pointer;
  PyObject_GetAttrString(object: Pointer, name: Pointer): Pointer;
  PyObject_CallOneArg(callable: Pointer, argument: Pointer): Pointer;
  PyErr_Clear(): void;
  malloc(size: number): Pointer;
  emscripten_stack_get_current(): Pointer;
  _emscripten_stack_restore(at: Pointer): void;
  /** The address of a byte that makes Python check for signals while it runs. */
  readonly Py_EMSCRIPTEN_SIGNAL_HANDLING: WebAssembly.Global;
}

const NAMES = [
  'PyBytes_FromStringAndSize',
  'PyBytes_AsString',
  'PyBytes_Size',
  'PyImport_AddModule',
  'PyObject_GetAttrString',
  'PyObject_CallOneArg',
  'PyErr_Clear',
  'malloc',
  'emscripten_stack_get_current',
  '_emscripten_stack_restore',
];

function isExports(exports: object): exports is Exports {
  const known = new Map<string, unknown>(Object.entries(exports));
  return (
    known.get('memory') instanceof WebAssembly.Memory &&
    known.get('__indirect_function_table') instanceof WebAssembly.Table &&
    known.get('Py_EMSCRIPTEN_SIGNAL_HANDLING') instanceof WebAssembly.Global &&
    NAMES.every((name) => typeof known.get(name) === 'function')
  );
}

/**
 * Loads the interpreter.
 * @param image from makeImage, or null to start without one, which takes five times as long
 */
async function loadPython(
  folder: string,
  capabilities: Capabilities,
  image: Uint8Array | null,
): Promise<{ readonly python: Pyodide; readonly exports: Exports }> {
  const found: Exports[] = [];
  const instantiate = WebAssembly.instantiate.bind(WebAssembly);
  const guarded = async (source: BufferSource, imports?: Record<string, object>): Promise<object> => {
    if (imports?.['env'] === undefined) {
      return imports === undefined ? instantiate(source) : instantiate(source, imports as WebAssembly.Imports);
    }
    const result = await instantiate(source, capabilities.guard(imports) as WebAssembly.Imports);
    const { exports } = result.instance;
    if (!isExports(exports)) {
      throw new Error('this version of pyodide does not export what the sandbox calls');
    }
    capabilities.connect(exports.memory);
    found.push(exports);
    return result;
  };
  // The loader takes these from the global object. Without streaming and stack switching there is only
  // one way to instantiate.
  Object.assign(WebAssembly, { instantiate: guarded });
  for (const name of ['instantiateStreaming', 'Suspending', 'promising']) {
    Reflect.deleteProperty(WebAssembly, name);
  }
  const loader = (await import(pathToFileURL(join(folder, 'pyodide.mjs')).href)) as {
    readonly loadPyodide: LoadPyodide;
  };
  const python = await loader.loadPyodide({
    // `import js` finds nothing.
    jsglobals: Object.freeze({ __proto__: null }),
    env: { HOME: '/home/pyodide', PYTHONHASHSEED: '0' },
    stdin: () => null,
    stdout: () => undefined,
    stderr: () => undefined,
    ...(image === null ? { _makeSnapshot: true } : { _loadSnapshot: image }),
  });
  const [exports] = found;
  if (exports === undefined) {
    throw new Error('pyodide did not start');
  }
  // Gives the device files the same random stream as the system call.
  for (const name of ['random', 'urandom']) {
    python.FS.unlink(`/dev/${name}`);
    python.FS.createDevice('/dev', name, () => capabilities.randomByte());
  }
  return { python, exports };
}

/** Returns the memory of an interpreter that has loaded the harness; starting from it is quick. */
export async function makeImage(folder: string, capabilities: Capabilities): Promise<Uint8Array> {
  const { python } = await loadPython(folder, capabilities, null);
  python.runPython(
    `import sys, types\nmodule = types.ModuleType(${JSON.stringify(HARNESS_MODULE)})\nsys.modules[module.__name__] = module\nexec(compile(${JSON.stringify(HARNESS)}, '<harness>', 'exec'), module.__dict__)\ndel module`,
  );
  return python.makeMemorySnapshot();
}

export class Interpreter {
  private readonly python: Pyodide;
  private readonly exports: Exports;
  private readonly capabilities: Capabilities;
  private readonly handler: Pointer;
  /** The state to which a reset returns: the memory, and the state outside it. */
  private readonly baseline: Uint8Array;
  private readonly stack: Pointer;
  private readonly outside: string;
  /** The files that are open in that state: standard input, output and error. */
  private readonly standard: ReadonlySet<Stream>;

  private constructor(python: Pyodide, exports: Exports, capabilities: Capabilities) {
    this.python = python;
    this.exports = exports;
    this.capabilities = capabilities;
    const module = exports.PyImport_AddModule(this.text(HARNESS_MODULE));
    capabilities.reset();
    this.handler = exports.PyObject_GetAttrString(module, this.text('handle'));
    if (this.handler === 0) {
      throw new Error('the harness is not in the memory image');
    }
    // Lets an endless run reach the check of the clock (capabilities.ts).
    new Uint8Array(exports.memory.buffer)[Number(exports.Py_EMSCRIPTEN_SIGNAL_HANDLING.value) >>> 0] = 1;
    this.baseline = new Uint8Array(exports.memory.buffer).slice();
    this.stack = exports.emscripten_stack_get_current();
    this.standard = new Set(python.FS.streams.filter((stream) => stream !== null && stream !== undefined));
    this.outside = this.describeOutside();
    capabilities.armed = true;
  }

  static async start(folder: string, capabilities: Capabilities, image: Uint8Array): Promise<Interpreter> {
    const { python, exports } = await loadPython(folder, capabilities, image);
    return new Interpreter(python, exports, capabilities);
  }

  /**
   * Returns the harness's answer to a request.
   * @throws Ended if the run is over
   */
  handle(request: Uint8Array): Uint8Array {
    const exports = this.exports;
    this.capabilities.begin();
    try {
      const argument = exports.PyBytes_FromStringAndSize(0, request.length);
      new Uint8Array(exports.memory.buffer).set(request, exports.PyBytes_AsString(argument) >>> 0);
      const result = exports.PyObject_CallOneArg(this.handler, argument);
      if (result === 0) {
        exports.PyErr_Clear();
        throw new Ended('crash', 'the interpreter answered nothing');
      }
      const size = exports.PyBytes_Size(result);
      if (size < 0) {
        throw new Ended('crash', 'the interpreter answered something that is not a message');
      }
      const start = exports.PyBytes_AsString(result) >>> 0;
      return new Uint8Array(exports.memory.buffer).slice(start, start + size);
    } catch (error) {
      if (error instanceof Ended) {
        throw error;
      }
      // Exhausted stacks and traps of WebAssembly.
      throw new Ended('crash', error instanceof Error ? error.message.slice(0, 200) : 'the interpreter broke', false);
    }
  }

  /**
   * Resets everything bit for bit, even after a run that was ended inside an import. A WebAssembly
   * program has only its memory, its tables and its globals, and of the globals only the stack pointer
   * changes while it runs.
   * @returns false if only a new process is clean
   */
  reset(): boolean {
    const { memory } = this.exports;
    if (memory.buffer.byteLength > this.baseline.length + KEPT_GROWTH) {
      return false;
    }
    const { FS } = this.python;
    for (const stream of FS.streams) {
      if (stream !== null && stream !== undefined && !this.standard.has(stream)) {
        FS.close(stream);
      }
    }
    const all = new Uint8Array(memory.buffer);
    all.set(this.baseline);
    all.fill(0, this.baseline.length);
    this.exports._emscripten_stack_restore(this.stack);
    this.capabilities.reset();
    return this.describeOutside() === this.outside;
  }

  /** Describes the state outside the memory that code could have changed. */
  private describeOutside(): string {
    // By identity: another file may have taken the place of a closed one.
    const streams = [...this.standard].map(
      (stream) => `${this.python.FS.streams.indexOf(stream)}:${stream.position}:${stream.flags}`,
    );
    return `${streams.join(' ')} ${this.python.FS.cwd()} ${this.exports.__indirect_function_table.length} ${this.exports.emscripten_stack_get_current()}`;
  }

  /** Writes a C string into the interpreter's memory; for the few names at start. */
  private text(text: string): Pointer {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = this.exports.malloc(bytes.length);
    new Uint8Array(this.exports.memory.buffer).set(bytes, at >>> 0);
    return at;
  }
}
