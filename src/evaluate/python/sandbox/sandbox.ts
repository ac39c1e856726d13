/**
 * Entry of the sandbox's process: `sandbox FOLDER ROLE SECONDS MEMORY OUTPUT MESSAGE`, with messages on
 * standard input and output (frames.ts).
 *
 * From the parent: `M` make a memory image; `S` start from the given image; `H` a request for the
 * harness; `R` reset everything; `B` the answer to an `A`. To the parent: `M` the image; `O` ready;
 * `N` only a new process is clean; `V` the harness's reply; `A` a request of the tests to the
 * candidate; `D` the run has ended, by the rule in it, and must be reset; `T` the same because of its
 * time; `F` the run and this process have ended, by the rule in it; `E` the sandbox cannot work here.
 *
 * Reading and writing block on purpose: this process never returns to an event loop, so nothing that a
 * candidate leaves behind can run.
 */

import { constants, readSync, writeSync } from 'node:fs';
import { Capabilities, Ended } from './capabilities.ts';
import { splitFrame, HEADER, parseFrameHeader, type Frame } from './frames.ts';
import { TOO_LONG } from './harness.ts';
import { Interpreter, makeImage } from './interpreter.ts';

const [folder = '', role = '', seconds = '', memory = '', output = '', message = ''] = process.argv.slice(2);

/** Retries until the pipe is ready. Returns 0 at its end, which Windows reports as an error. */
function retryUntilReady(work: () => number): number {
  for (;;) {
    try {
      return work();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'EOF' || code === 'EPIPE') {
        return 0;
      }
      if (code !== 'EAGAIN') {
        throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

function readExactly(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size;) {
    const read = retryUntilReady(() => readSync(0, bytes, at, size - at, null));
    // The parent has exited.
    if (read === 0) {
      process.exit(0);
    }
    at += read;
  }
  return bytes;
}

function receiveFrame(): Frame {
  const header = parseFrameHeader(readExactly(HEADER));
  if (header === null) {
    process.exit(1);
  }
  return { kind: header.kind, content: readExactly(header.length) };
}

function sendFrame(kind: string, content: Uint8Array): void {
  for (const bytes of splitFrame(kind, content)) {
    for (let at = 0; at < bytes.length;) {
      const written = retryUntilReady(() => writeSync(1, bytes, at, bytes.length - at));
      if (written === 0) {
        process.exit(0);
      }
      at += written;
    }
  }
}

const sendText = (kind: string, text: string): void => sendFrame(kind, new TextEncoder().encode(text));

/** Returns the reason why this process is not isolated, or null if it is. */
function findProcessWeakness(): string | null {
  const { permission } = process as { permission?: { has(scope: string): boolean } };
  if (permission === undefined) {
    return 'Node runs without its permission model';
  }
  const open = ['fs.read', 'fs.write', 'child', 'worker'].find((scope) => permission.has(scope));
  if (open !== undefined) {
    return `the permission ${open} is open`;
  }
  try {
    Reflect.construct(Function, ['return 1']);
    return 'texts can become code';
  } catch {
    return null;
  }
}

/**
 * A Date that is always 0, so that files of the interpreter have no time. The interpreter's own clock
 * is answered separately (capabilities.ts).
 */
class Timeless extends Date {
  constructor(value: number | string = 0, ...rest: readonly number[]) {
    if (rest.length === 0) {
      super(value);
    } else {
      super(Number(value), ...(rest as [number]));
    }
  }

  static override now(): number {
    return 0;
  }
}

/** Reserves standard output for messages, and hides the network and facts about the machine. */
function removeGlobals(): void {
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    console[name] = () => undefined;
  }
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'navigator']) {
    Reflect.deleteProperty(globalThis, name);
  }
  // Hides the location of this program.
  process.argv.splice(1, process.argv.length, 'python');
  // Calendars must not depend on the machine's location, nor files on the time when they were made or
  // read.
  process.env['TZ'] = 'UTC';
  Reflect.set(globalThis, 'Date', Timeless);
  // The interpreter's file system asks for these constants at start; it gets nothing else.
  Reflect.set(process, 'binding', () => ({ fs: constants }));
}

async function serveRequests(): Promise<void> {
  const weak = findProcessWeakness();
  if (weak !== null) {
    sendText('E', weak);
    return;
  }
  removeGlobals();
  const exchange = (request: Uint8Array): Uint8Array => {
    sendFrame('A', request);
    return receiveFrame().content;
  };
  const capabilities = new Capabilities(
    { seconds: Number(seconds), memory: Number(memory), output: Number(output) },
    role === 'tests' ? exchange : null,
  );
  const first = receiveFrame();
  if (first.kind === 'M') {
    sendFrame('M', await makeImage(folder, capabilities));
    return;
  }
  const interpreter = await Interpreter.start(folder, capabilities, first.content);
  sendFrame('O', new Uint8Array());
  /** True if a run has ended here and was not reset. */
  let over = false;
  for (;;) {
    const { kind, content } = receiveFrame();
    if (kind === 'R') {
      // Sends a message instead of only exiting, because a process sometimes hangs in its own exit.
      const clean = interpreter.reset();
      sendFrame(clean ? 'O' : 'N', new Uint8Array());
      if (!clean) {
        return;
      }
      over = false;
      continue;
    }
    if (over) {
      throw new Error('asked again before it was put back');
    }
    try {
      const reply = interpreter.handle(content);
      if (reply.length > Number(message)) {
        throw new Ended('message-limit', TOO_LONG);
      }
      sendFrame('V', reply);
    } catch (error) {
      if (!(error instanceof Ended) || !error.clean) {
        throw error;
      }
      over = true;
      sendText(error.rule === 'time-limit' ? 'T' : 'D', formatEnding(error));
    }
  }
}

const formatEnding = ({ rule, message }: Ended): string => JSON.stringify([rule, message]);

try {
  await serveRequests();
} catch (error) {
  if (error instanceof Ended) {
    sendText('F', formatEnding(error));
  } else {
    sendText('E', error instanceof Error ? error.message.slice(0, 300) : 'unknown');
  }
}
process.exit(0);
