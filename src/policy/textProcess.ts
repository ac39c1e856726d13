/**
 * The engine's side of the process that runs the tokenizer and the chat template of a folder, which
 * anybody may have made. Such work cannot be bounded in the engine's own process: an endless
 * regular expression blocks its thread, and a heap overflow in a worker thread aborts the whole
 * process. Here a cancel, a time limit or a full heap ends only the separate process. Other pending
 * work is sent to a new one, because all of this work is a function of its input.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killOwned, spawnOwned } from '../files/ownedProcess.ts';
import { onAbort } from '../shared/cancellation.ts';
import { C3Error, CancelledError, toErrorMessage } from '../shared/errors.ts';
import type { TokenSpans } from '../shared/transcript/contextTokens.ts';
import type { Renderer } from '../team/render.ts';
import type { ChatMessage, ChatOptions, TemplateSource } from './chatTemplate.ts';
import { isSimpleRendering, createRenderer, type Rendering } from './rendering.ts';
import {
  TEXT_LIMITS,
  type Template,
  type TextLimits,
  type TextReply,
  type TextRequest,
  type TextResult,
  type TextWork,
} from './textRequests.ts';
import {
  readTokenizerFiles,
  TOKENIZER_FILE,
  type Tokenizer,
  type TokenizerFacts,
  type TokenizerFiles,
} from './tokenizer.ts';

/** The paths that the process needs. */
export interface TextPlaces {
  /** The program: text.ts, or its bundle. */
  readonly entry: URL;
  /** The only folder that it may read. */
  readonly readable: string;
}

/** A chat template that answers asynchronously. */
export type ChatRenderer = (messages: readonly ChatMessage[], options?: ChatOptions) => Promise<string>;

/** Milliseconds that a cancelled answer is waited for, because it may be there in a moment. */
const GRACE = 80;
/** A process that is silent for this many time limits is ended. */
const OVERDUE = 3;
/** Milliseconds without work after which the process is ended. The next call starts another one. */
const IDLE = 600_000;
/** The most pieces of work in one message, so that the next message does not wait long. */
const TOGETHER = 64;
/** Turns off core dumps of a process that is ended. */
const ENCLOSE = 'ulimit -c 0; exec "$@"';

interface Pending {
  readonly work: TextWork;
  /** The file that the work belongs to, for messages. */
  readonly place: string;
  readonly signal: AbortSignal;
  readonly resolve: (result: TextResult) => void;
  readonly reject: (error: Error) => void;
  posted: boolean;
}

/** One process for one folder. The first call starts it, and it is restarted if it had to be ended. */
export class TextProcess {
  readonly folder: string;
  private readonly places: TextPlaces;
  private readonly limits: TextLimits;
  private readonly templates: Template[] = [];
  private readonly templateTexts: string[] = [];
  /** In the order in which the process does it. */
  private readonly pending = new Map<number, Pending>();
  private files: TokenizerFiles | undefined;
  private nextId = 0;
  private child: ChildProcess | undefined;
  private ready = false;
  private filesPosted = false;
  private templatesPosted = 0;
  private flushing = false;
  /** True while work is sent one by one, to find the piece that ended the previous process. */
  private alone = false;
  private readonly calls = new CallsBySignal(GRACE, (signal) => this.giveUp(signal));
  /** Runs while an answer is pending, and restarts with every message of the process. */
  private overdue: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(places: TextPlaces, folder: string, limits: TextLimits = TEXT_LIMITS) {
    this.places = places;
    this.limits = limits;
    this.folder = folder;
  }

  /**
   * Returns the folder's tokenizer, whose calls the signal cancels.
   * @throws C3Error('model') that names the file; CancelledError
   */
  async tokenizer(signal: AbortSignal): Promise<Tokenizer> {
    // The files are kept, because a replacement process must not find other files.
    this.files ??= await readTokenizerFiles(this.folder);
    const call = <Result extends TextResult>(work: TextWork): Promise<Result> =>
      this.call<Result>(work, join(this.folder, TOKENIZER_FILE), signal);
    const facts = await call<TokenizerFacts>({ kind: 'facts' });
    return {
      ...facts,
      encode: (text) => call<Int32Array>({ kind: 'encode', whole: false, text }),
      encodeWhole: (text) => call<Int32Array>({ kind: 'encode', whole: true, text }),
      decode: (ids) => (ids.length === 0 ? '' : call<string>({ kind: 'decode', whole: false, ids })),
      decodeWhole: (ids) => (ids.length === 0 ? '' : call<string>({ kind: 'decode', whole: true, ids })),
      pieces: (ids) => call<readonly string[]>({ kind: 'pieces', ids }),
      spans: (ids, text) => call<TokenSpans>({ kind: 'spans', ids, text }),
    };
  }

  /**
   * Returns the function of a rendering, whose calls the signal cancels. Plain text with few
   * control tokens is rendered in this process.
   */
  renderer(rendering: Rendering | null, signal: AbortSignal): Renderer {
    if (rendering === null || isSimpleRendering(rendering)) {
      return createRenderer(rendering);
    }
    const template = this.numberOf({ kind: 'contexts', rendering });
    const place = rendering.template?.path ?? join(this.folder, TOKENIZER_FILE);
    return (context) => this.call<string>({ kind: 'context', template, context }, place, signal);
  }

  /**
   * Returns a chat template, whose calls the signal cancels.
   * @throws C3Error('model') that names the file, if it is not a template; CancelledError
   */
  async chat(source: TemplateSource, signal: AbortSignal): Promise<ChatRenderer> {
    const template = this.numberOf({ kind: 'chat', source });
    await this.call<null>({ kind: 'compile', template }, source.path, signal);
    return (messages, options = {}) =>
      this.call<string>({ kind: 'chat', template, messages, options }, source.path, signal);
  }

  /** Ends the process. Its pending work fails. */
  close(): void {
    this.endChild();
    for (const id of [...this.pending.keys()]) {
      this.fail(id, new C3Error('engine', 'The engine is being closed.'));
    }
  }

  private numberOf(template: Template): number {
    const text = JSON.stringify(template);
    const known = this.templateTexts.indexOf(text);
    if (known >= 0) {
      return known;
    }
    this.templateTexts.push(text);
    return this.templates.push(template) - 1;
  }

  /** Sends work to the process. This is the only place where the type of a result is trusted. */
  private call<Result extends TextResult>(work: TextWork, place: string, signal: AbortSignal): Promise<Result> {
    if (signal.aborted) {
      return Promise.reject(new CancelledError());
    }
    clearTimeout(this.idle);
    return new Promise<Result>((resolve, reject) => {
      const id = this.nextId++;
      this.pending.set(id, {
        work,
        place,
        signal,
        resolve: (result) => resolve(result as Result),
        reject,
        posted: false,
      });
      this.calls.begin(signal);
      this.overdue ??= setTimeout(
        () => this.replace(`took more than ${this.limits.seconds} s`),
        OVERDUE * 1000 * this.limits.seconds,
      );
      this.flushSoon();
    });
  }

  /** Sends the requests of one turn of the event loop together, as completions arrive in bursts. */
  private flushSoon(): void {
    if (this.flushing) {
      return;
    }
    this.flushing = true;
    setImmediate(() => {
      this.flushing = false;
      this.flush();
    });
  }

  private flush(): void {
    const waiting = [...this.pending].filter(([, { posted }]) => !posted);
    const fresh = !this.alone ? waiting : waiting.length < this.pending.size ? [] : waiting.slice(0, 1);
    if (fresh.length === 0) {
      return;
    }
    this.child ??= this.begin();
    if (waiting.length === this.pending.size) {
      this.overdue?.refresh();
    }
    if (this.files !== undefined && !this.filesPosted) {
      this.filesPosted = true;
      this.post({ kind: 'files', files: this.files });
    }
    for (; this.templatesPosted < this.templates.length; this.templatesPosted++) {
      const template = this.templates[this.templatesPosted];
      if (template !== undefined) {
        this.post({ kind: 'template', number: this.templatesPosted, template });
      }
    }
    for (let from = 0; from < fresh.length; from += TOGETHER) {
      const items = fresh.slice(from, from + TOGETHER).map(([id, pending]) => {
        pending.posted = true;
        return { id, work: pending.work };
      });
      this.post({ kind: 'work', items });
    }
  }

  private post(request: TextRequest): void {
    // A process that has ended is handled at its exit.
    this.child?.send(request, () => undefined);
  }

  private begin(): ChildProcess {
    const { entry, readable } = this.places;
    const { seconds, megabytes } = this.limits;
    const program = fileURLToPath(entry);
    const node = [
      process.execPath,
      '--permission',
      `--allow-fs-read=${dirname(program)}`,
      `--allow-fs-read=${readable}`,
      '--disallow-code-generation-from-strings',
      '--no-warnings',
      `--max-old-space-size=${megabytes}`,
      program,
      String(seconds),
    ];
    const line = process.platform === 'win32' ? node : ['/bin/sh', '-c', ENCLOSE, 'c3-text', ...node];
    const env = process.versions['electron'] === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' };
    const child = spawnOwned(env, (own) =>
      spawn(line[0] ?? '', line.slice(1), {
        ...own,
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        serialization: 'advanced',
        cwd: readable,
        windowsHide: true,
      }),
    );
    // Pending calls keep the engine alive by the timer. An idle process does not.
    child.unref();
    child.channel?.unref();
    child.on('message', (reply) => {
      if (child === this.child) {
        this.receive(reply as TextReply);
      }
    });
    const ended = (why: string): void => {
      killOwned(child);
      if (child === this.child) {
        this.replace(why);
      }
    };
    child.on('error', (error) => ended(`did not start: ${toErrorMessage(error)}`));
    // The exit may be reported before the last answers. Only a closed channel has none left.
    const exited = new Promise<string>((resolve) => {
      child.on('exit', (code, signal) => {
        resolve(
          signal === 'SIGABRT' || code === 134
            ? `needed more than ${megabytes} MB of memory`
            : `ended its process with ${signal ?? `code ${String(code)}`}`,
        );
      });
    });
    child.on('disconnect', () => void exited.then(ended));
    [this.ready, this.filesPosted, this.templatesPosted] = [false, false, 0];
    this.overdue?.refresh();
    return child;
  }

  private receive(reply: TextReply): void {
    this.overdue?.refresh();
    this.ready = true;
    if (reply.kind === 'ready') {
      return;
    }
    for (const item of reply.items) {
      const pending = this.pending.get(item.id);
      // The caller cancelled it meanwhile.
      if (pending === undefined) {
        continue;
      }
      if ('result' in item) {
        this.release(item.id);
        pending.resolve(item.result);
      } else {
        this.fail(item.id, new C3Error(item.failure.kind, item.failure.message));
      }
    }
    if (this.alone) {
      this.flushSoon();
    }
  }

  /** Fails the calls of an aborted signal. */
  private giveUp(signal: AbortSignal): void {
    const due = [...this.pending].filter(([, pending]) => pending.signal === signal).map(([id]) => id);
    const [first] = this.pending.keys();
    const working = due.includes(first ?? -1);
    for (const id of due) {
      this.fail(id, new CancelledError());
    }
    // Nobody waits for its current work any more.
    if (working) {
      this.restart();
    }
  }

  /**
   * Handles an end: the work that caused it fails, and the other work is sent to another process.
   * If several pieces were pending, each is then sent alone to find the cause.
   */
  private replace(why: string): void {
    const started = this.ready;
    const [first] = this.pending;
    if (!started) {
      this.endChild();
      for (const [id] of [...this.pending]) {
        this.fail(
          id,
          new C3Error('engine', `The process that works with tokenizers and chat templates ${why}; run \`c3 doctor\`.`),
        );
      }
      return;
    }
    this.alone = !this.alone && [...this.pending.values()].filter(({ posted }) => posted).length > 1;
    if (!this.alone && first !== undefined) {
      this.fail(first[0], new C3Error('model', `${first[1].place}: ${why}; choose another model.`));
    }
    this.restart();
  }

  private restart(): void {
    this.endChild();
    for (const pending of this.pending.values()) {
      pending.posted = false;
    }
    if (this.pending.size > 0) {
      this.flushSoon();
    }
  }

  private endChild(): void {
    const { child } = this;
    this.child = undefined;
    if (child !== undefined) {
      killOwned(child);
    }
  }

  private fail(id: number, error: Error): void {
    const pending = this.pending.get(id);
    this.release(id);
    pending?.reject(error);
  }

  private release(id: number): void {
    const pending = this.pending.get(id);
    if (pending === undefined) {
      return;
    }
    this.pending.delete(id);
    this.calls.end(pending.signal);
    if (this.pending.size > 0) {
      return;
    }
    this.alone = false;
    clearTimeout(this.overdue);
    this.overdue = undefined;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.endChild(), IDLE).unref();
  }
}

// Counts calls by signal, with one listener for all calls of a signal.

interface Watch {
  calls: number;
  readonly stop: () => void;
}

class CallsBySignal {
  private readonly watches = new Map<AbortSignal, Watch>();
  private readonly grace: number;
  private readonly late: (signal: AbortSignal) => void;

  /** @param late called if calls of a signal are still open `grace` milliseconds after its abort */
  constructor(grace: number, late: (signal: AbortSignal) => void) {
    this.grace = grace;
    this.late = late;
  }

  begin(signal: AbortSignal): void {
    const known = this.watches.get(signal);
    if (known !== undefined) {
      known.calls++;
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    const release = onAbort(signal, () => {
      timer = setTimeout(() => this.late(signal), this.grace);
    });
    const stop = (): void => {
      release();
      clearTimeout(timer);
    };
    this.watches.set(signal, { calls: 1, stop });
  }

  end(signal: AbortSignal): void {
    const watch = this.watches.get(signal);
    if (watch !== undefined && --watch.calls === 0) {
      watch.stop();
      this.watches.delete(signal);
    }
  }
}
