/** The connection to a store's engine, which is found or started, and renewed after it ended. */

import type { Socket } from 'node:net';
import { ResponseError, type CancellationToken, type MessageConnection } from 'vscode-jsonrpc/node';
import { C3Error, CancelledError, restoreError, toErrorMessage } from '../shared/errors.ts';
import {
  EditorAnswerRequest,
  EditorOpenRequest,
  EditorWaitRequest,
  type EditorModels,
} from '../shared/protocols/editorProtocol.ts';
import {
  BlameProgressNotification,
  CANCELLED_CODE,
  FAILED_CODE,
  InitializeRequest,
  JobsChangedNotification,
  LogNotification,
  OfferKeysRequest,
  PROTOCOL_VERSION,
  RecordProgressNotification,
  ReplayProgressNotification,
  RunProgressNotification,
  StoreWaitNotification,
  TestModelProgressNotification,
  TrialProgressNotification,
  VerifyProgressNotification,
  YieldRequest,
  type BlameProgress,
  type InitializeResult,
  type RecordProgress,
  type ReplayProgress,
  type TestModelProgress,
  type TrialProgress,
  type VerifyProgress,
} from '../shared/protocols/engineProtocol.ts';
import { findJobInProgress, type ClientKind, type JobList, type RunProgress } from '../shared/protocols/jobs.ts';
import { createSocketConnection } from '../shared/protocols/socketConnection.ts';
import { ALLOW_COMMANDS } from '../shared/runNames.ts';
import { connectOrStart, connectToEngine } from './startEngine.ts';

/** The most attempts to connect. An engine that is about to end may cost one or two. */
const ATTEMPTS = 5;

export interface EngineEvents {
  /** One line of the engine's log. */
  log(line: string): void;
  /** The runs that are requested, waiting, running or ended. */
  jobs(list: JobList): void;
  runProgress(progress: RunProgress): void;
  replayProgress(progress: ReplayProgress): void;
  verifyProgress(progress: VerifyProgress): void;
  testModelProgress(progress: TestModelProgress): void;
  recordProgress?(progress: RecordProgress): void;
  blameProgress?(progress: BlameProgress): void;
  trialProgress?(progress: TrialProgress): void;
  /** Names the process for which the engine waits to write the store, or null after the wait. */
  waiting(words: string | null): void;
  /** The engine answered its first request. */
  ready(result: InitializeResult): void;
  /** The connection ended. Pending requests have failed. */
  ended(): void;
}

/** Keys of servers, by the names of their variables. */
export type Keys = Readonly<Record<string, string>>;

export interface ClientOptions {
  /** The absolute path of the engine's entry. */
  readonly script: string;
  /** The absolute path of the store. */
  readonly store: string;
  readonly kind: ClientKind;
  /** The product's version. An idle engine of another version ends in favor of this one. */
  readonly version: string;
  /** Reads the user's keys of servers, by the names of their variables. Without it there are none. */
  readonly keys?: () => Promise<Keys>;
  /** Access to the chat models of VS Code. Only windows have it. */
  readonly editor?: EditorModels;
}

interface Live {
  readonly connection: MessageConnection;
  readonly socket: Socket;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<undefined>;
  readonly hello: InitializeResult;
}

/** The connection of one client. There is at most one at a time. */
export class EngineConnection {
  private readonly options: ClientOptions;
  private readonly events: EngineEvents;
  private live: Live | null = null;
  private joining: Promise<Live | null> | null = null;
  private ended = false;

  constructor(options: ClientOptions, events: EngineEvents) {
    this.options = options;
    this.events = events;
  }

  /** True if there is a connection. */
  get attached(): boolean {
    return this.live !== null;
  }

  /** True if it was closed for good. */
  get disposed(): boolean {
    return this.ended;
  }

  /**
   * Returns the connection, and connects if there is none.
   * @param start starts an engine if none is running; otherwise the result is null then
   */
  async join(start: boolean): Promise<Live | null> {
    for (;;) {
      if (this.ended) {
        throw new C3Error(
          'engine',
          'The connection to the engine has been closed with its window: reload the window to use it again.',
        );
      }
      if (this.live !== null) {
        return this.live;
      }
      if (this.joining === null) {
        const joining = this.connect(start);
        this.joining = joining;
        try {
          return await joining;
        } finally {
          this.joining = null;
        }
      }
      const joined = await this.joining.catch(() => null);
      // A caller that only looked accepts null. A caller with work starts an engine.
      if (joined !== null || !start) {
        return joined;
      }
    }
  }

  private async connect(start: boolean): Promise<Live | null> {
    const { store, script, version, kind } = this.options;
    // Windows request engines only in trusted workspaces.
    const allowed = kind === 'window' ? { [ALLOW_COMMANDS]: '1' } : {};
    const keys = await this.keys();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const socket = start ? await connectOrStart(store, script, allowed) : await connectToEngine(store);
      if (socket === null) {
        return null;
      }
      const live = await this.greet(socket);
      // The engine was just ending, so there will be another one.
      if (live === null) {
        continue;
      }
      const { hello } = live;
      const same = hello.protocol === PROTOCOL_VERSION && hello.version === version;
      if (same || (!start && hello.protocol === PROTOCOL_VERSION)) {
        return this.adopt(live, keys);
      }
      // An engine that ends at once may do so before its answer is sent.
      if (
        start &&
        (await Promise.race([
          live.connection.sendRequest(YieldRequest).then(
            ({ ending }) => ending,
            () => false,
          ),
          live.ended.then(() => true),
        ]))
      ) {
        await live.ended;
        continue;
      }
      if (hello.protocol === PROTOCOL_VERSION) {
        return this.adopt(live, keys);
      }
      const busy = findJobInProgress(hello.list.jobs);
      live.socket.destroy();
      if (!start) {
        return null;
      }
      throw new C3Error(
        'engine',
        `The engine of this store is C3 ${hello.version} and this is ${version}; ${busy === null ? 'it is busy' : `it runs "${busy.title}"`}: wait for it to end, or cancel it there. Reading works meanwhile.`,
      );
    }
    throw new C3Error('engine', 'The engine ended repeatedly before it could be used: see the log, then try again.');
  }

  /** Introduces this client. Returns null if the connection ended before the answer. */
  private async greet(socket: Socket): Promise<Live | null> {
    const { store, kind } = this.options;
    const { events } = this;
    const connection = createSocketConnection(socket);
    const ended = new Promise<undefined>((resolve) => {
      socket.once('close', () => resolve(undefined));
    });
    socket.on('error', () => undefined);
    connection.onError(([error]) => events.log(`connection: ${toErrorMessage(error)}`));
    connection.onNotification(RunProgressNotification, (progress) => events.runProgress(progress));
    connection.onNotification(ReplayProgressNotification, (progress) => events.replayProgress(progress));
    connection.onNotification(VerifyProgressNotification, (progress) => events.verifyProgress(progress));
    connection.onNotification(TestModelProgressNotification, (progress) => events.testModelProgress(progress));
    connection.onNotification(RecordProgressNotification, (progress) => events.recordProgress?.(progress));
    connection.onNotification(BlameProgressNotification, (progress) => events.blameProgress?.(progress));
    connection.onNotification(TrialProgressNotification, (progress) => events.trialProgress?.(progress));
    connection.onNotification(JobsChangedNotification, (list) => events.jobs(list));
    connection.onNotification(StoreWaitNotification, ({ words }) => events.waiting(words));
    connection.onNotification(LogNotification, ({ line }) => events.log(line));
    if (this.options.editor !== undefined) {
      answerEngine(connection, this.options.editor);
    }
    connection.listen();
    const asked = connection.sendRequest(InitializeRequest, { store, protocol: PROTOCOL_VERSION, client: kind });
    const hello = await Promise.race([asked, ended]).catch((error: unknown) => {
      if (socket.destroyed) {
        return undefined;
      }
      socket.destroy();
      throw toEngineError(error);
    });
    return hello === undefined ? null : { connection, socket, ended, hello };
  }

  /**
   * Makes a connection the current one.
   * @param keys sent to the engine before any later request
   */
  private adopt(live: Live, keys: Keys): Live {
    this.live = live;
    if (Object.keys(keys).length > 0) {
      giveKeys(live, keys);
    }
    for (const line of live.hello.log) {
      this.events.log(line);
    }
    this.events.ready(live.hello);
    this.events.jobs(live.hello.list);
    void live.ended.then(() => {
      if (this.live === live) {
        this.live = null;
      }
      this.events.ended();
      // This runs later, so that pending requests fail with the message on how the engine ended.
      setImmediate(() => live.connection.dispose());
    });
    return live;
  }

  /** Gives the keys to the connected engine. An engine that is joined later receives them then. */
  async offerKeys(): Promise<void> {
    const keys = await this.keys();
    const live = this.live ?? (await this.joining?.catch(() => null)) ?? null;
    if (live !== null) {
      giveKeys(live, keys);
    }
  }

  private async keys(): Promise<Keys> {
    return (await this.options.keys?.()) ?? {};
  }

  /** Ends the connection. The engine continues its runs. */
  async dispose(): Promise<void> {
    this.ended = true;
    const live = this.live ?? (await this.joining?.catch(() => null)) ?? null;
    live?.connection.end();
    live?.socket.destroy();
    await live?.ended;
  }
}

/** Answers the engine's requests to VS Code and its user. */
function answerEngine(connection: MessageConnection, editor: EditorModels): void {
  const signalOf = (token: CancellationToken): AbortSignal => {
    const cancelled = new AbortController();
    token.onCancellationRequested(() => cancelled.abort());
    return cancelled.signal;
  };
  connection.onRequest(EditorOpenRequest, (params, token) => editor.open(params, signalOf(token)));
  connection.onRequest(EditorAnswerRequest, (question, token) => editor.answer(question, signalOf(token)));
  connection.onRequest(EditorWaitRequest, (wait, token) => editor.askWait(wait, signalOf(token)));
}

/** Sends keys. An engine that cannot accept them reports an error when it needs one. */
function giveKeys({ connection }: Live, keys: Keys): void {
  connection.sendRequest(OfferKeysRequest, { keys }).catch(() => undefined);
}

/** Converts an error to the engine's message. Cancellation stays distinct from failure. */
export function toEngineError(error: unknown): Error {
  if (error instanceof C3Error) {
    return error;
  }
  if (!(error instanceof ResponseError)) {
    return new C3Error('engine', toErrorMessage(error), { cause: error });
  }
  if (error.code === CANCELLED_CODE) {
    return new CancelledError();
  }
  return restoreError(error.message, error.code === FAILED_CODE ? error.data : null, error);
}
