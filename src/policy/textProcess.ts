/**
 * The engine's end of the process that works with the tokenizer and the chat template of a folder that anybody may have
 * made. Such work cannot be bounded in the engine's own process: an expression that never ends blocks its thread, and a
 * heap that overflows in a worker thread aborts all of it. Here a cancel, a limit of time or a full heap ends the
 * process alone, and what others had asked of it is asked again of a new one: all of this work is a function of its
 * input.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killOwned, spawnOwned } from '../files/ownedProcess.ts';
import { onAbort } from '../shared/cancellation.ts';
import { C3Error, CancelledError, messageOf } from '../shared/errors.ts';
import type { TokenSpans } from '../shared/transcript/contextTokens.ts';
import type { Renderer } from '../team/render.ts';
import type { ChatMessage, ChatOptions, TemplateSource } from './chatTemplate.ts';
import { isSimple, rendererOf, type Rendering } from './rendering.ts';
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

/** Where the process finds its program. */
export interface TextPlaces {
  /** The program: text.ts, or its bundle. */
  readonly entry: URL;
  /** The only folder that it may read. */
  readonly readable: string;
}

/** A chat template that answers later. */
export type ChatRenderer = (messages: readonly ChatMessage[], options?: ChatOptions) => Promise<string>;

/** How long a cancelled answer is waited for: it may be there in a moment. In milliseconds. */
const GRACE = 80;
/** The process ends what takes too long itself; one that has said nothing for so many times as long is ended. */
const OVERDUE = 3;
/** A process that nobody asked for anything for so long is let go; the next call starts another. */
const IDLE = 600_000;
/** Pieces of work that go in one message: the next message is not waited for by work of others. */
const TOGETHER = 64;
/** No core of a process that is ended. */
const ENCLOSE = 'ulimit -c 0; exec "$@"';

interface Pending {
  readonly work: TextWork;
  /** The file whose work it is, for messages. */
  readonly place: string;
  readonly signal: AbortSignal;
  readonly resolve: (result: TextResult) => void;
  readonly reject: (error: Error) => void;
  posted: boolean;
}

/** One process for one folder; started by the first call, and again where it had to be ended. */
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
  /** Work goes one by one, until it is known what ended the process before. */
  private alone = false;
  private readonly calls = new CallsBySignal(GRACE, (signal) => this.giveUp(signal));
  /** Runs while something is waited for; begins again with every word of the process. */
  private overdue: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(places: TextPlaces, folder: string, limits: TextLimits = TEXT_LIMITS) {
    this.places = places;
    this.limits = limits;
    this.folder = folder;
  }

  /** The folder's tokenizer, its calls bound to a cancel. @throws C3Error('model') naming the file; CancelledError */
  async tokenizer(signal: AbortSignal): Promise<Tokenizer> {
    // Kept: a process that takes the place of another must not find other files.
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

  /** What a rendering does, its calls bound to a cancel; plain text with few control tokens is written here. */
  renderer(rendering: Rendering | null, signal: AbortSignal): Renderer {
    if (rendering === null || isSimple(rendering)) {
      return rendererOf(rendering);
    }
    const template = this.numberOf({ kind: 'contexts', rendering });
    const place = rendering.template?.path ?? join(this.folder, TOKENIZER_FILE);
    return (context) => this.call<string>({ kind: 'context', template, context }, place, signal);
  }

  /**
   * A chat template, its calls bound to a cancel.
   * @throws C3Error('model') naming the file, where it is no template; CancelledError
   */
  async chat(source: TemplateSource, signal: AbortSignal): Promise<ChatRenderer> {
    const template = this.numberOf({ kind: 'chat', source });
    await this.call<null>({ kind: 'compile', template }, source.path, signal);
    return (messages, options = {}) =>
      this.call<string>({ kind: 'chat', template, messages, options }, source.path, signal);
  }

  /** Ends the process; what it was asked for fails. */
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

  /** The process answers work with its result: the one place where its type is taken on trust. */
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

  /** What is asked in one turn of the event loop goes together: completions arrive in bursts. */
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
    // One that has ended says so by its exit.
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
    // Whoever waits keeps the engine alive by the timer; a process that waits for work does not.
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
    child.on('error', (error) => ended(`did not start: ${messageOf(error)}`));
    // Its exit may be heard before its last answers: only a channel that is closed has none left.
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
      // One that was cancelled meanwhile is no longer waited for.
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

  /** Fails the calls under a signal that has aborted. */
  private giveUp(signal: AbortSignal): void {
    const due = [...this.pending].filter(([, pending]) => pending.signal === signal).map(([id]) => id);
    const [first] = this.pending.keys();
    const working = due.includes(first ?? -1);
    for (const id of due) {
      this.fail(id, new CancelledError());
    }
    // What it is busy with is nobody's any more.
    if (working) {
      this.restart();
    }
  }

  /**
   * After an end: what it was the fault of fails, and the others are asked of another process. Of work that came
   * together each is asked alone then.
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

// Calls under signals: one listener for all calls of one signal, gone with the last of them.

interface Watch {
  calls: number;
  readonly stop: () => void;
}

class CallsBySignal {
  private readonly watches = new Map<AbortSignal, Watch>();
  private readonly grace: number;
  private readonly late: (signal: AbortSignal) => void;

  /** @param late called where calls of a signal are still open `grace` milliseconds after its abort */
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
