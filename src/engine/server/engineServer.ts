/** The engine's server for any number of windows and commands, all for one store. */

import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import {
  ResponseError,
  type CancellationToken,
  type MessageConnection,
  CancellationTokenSource,
  ErrorCodes,
} from 'vscode-jsonrpc/node';
import { describeCallProgress, formatChance } from '../../domain/answer.ts';
import type { Recorded } from '../../domain/episode.ts';
import type { ReplayResult } from '../../domain/replay.ts';
import { combineSignals, onAbort, throwIfAborted } from '../../shared/cancellation.ts';
import { DEFAULT_PROVIDER } from '../../shared/devices.ts';
import { C3Error, CancelledError, toFailureData, toErrorMessage } from '../../shared/errors.ts';
import {
  EditorAnswerRequest,
  EditorOpenRequest,
  EditorWaitRequest,
  type EditorFailure,
  type EditorModels,
} from '../../shared/protocols/editorProtocol.ts';
import {
  BlameProgressNotification,
  CANCELLED_CODE,
  FAILED_CODE,
  InitializeRequest,
  JobsChangedNotification,
  LogNotification,
  OfferKeysRequest,
  PROTOCOL_VERSION,
  REQUESTS,
  RecordProgressNotification,
  ReplayProgressNotification,
  RunProgressNotification,
  ShutdownRequest,
  StoreWaitNotification,
  TestModelProgressNotification,
  TrialProgressNotification,
  VerifyProgressNotification,
  YieldRequest,
  type RequestParams,
  type RecordParams,
  type RecordProgress,
  type ReplayParams,
  type RequestName,
  type RequestResult,
} from '../../shared/protocols/engineProtocol.ts';
import type { ClientKind } from '../../shared/protocols/jobs.ts';
import { createSocketConnection } from '../../shared/protocols/socketConnection.ts';
import { prepareReplay, prepareRunSearch, prepareSearch } from '../assistant/askedReplay.ts';
import { examineMachine } from '../machine/doctor.ts';
import { WindowGone } from '../models/editorWindows.ts';
import { inspectModel } from '../models/modelFacts.ts';
import { testModel } from '../models/modelTest.ts';
import { readRecipe } from '../recipe/recipe.ts';
import { record, findUpstream } from '../record/recordProgram.ts';
import { findModelToServe, serveFolder } from '../serve/ownServer.ts';
import { EngineService } from '../service.ts';
import { VERSION } from '../version.ts';
import type { EngineLog } from './engineLog.ts';
import { JobQueue } from './jobs.ts';

/** Milliseconds in which a given answer is sent. */
const ANSWER_MILLISECONDS = 50;

interface Client {
  readonly connection: MessageConnection;
  readonly socket: Socket;
  /** Null until the client has sent its kind. */
  kind: ClientKind | null;
  readonly gone: AbortController;
}

/** A handler for each request. `signal` aborts when the client cancels the request or disconnects. */
type Handlers = {
  readonly [Name in RequestName]: (
    params: RequestParams<Name>,
    signal: () => AbortSignal,
  ) => RequestResult<Name> | Promise<RequestResult<Name>>;
};

export interface ServerEvents {
  /** Called when `needed` may have changed. */
  changed(): void;
  /** Called when the engine should end now. */
  end(): void;
}

export class EngineServer {
  private readonly store: string;
  private readonly log: EngineLog;
  private readonly events: ServerEvents;
  private readonly service: EngineService;
  private readonly jobs: JobQueue;
  private readonly clients = new Set<Client>();
  /** Number of requests in progress, without runs. */
  private asked = 0;

  constructor(store: string, log: EngineLog, events: ServerEvents) {
    this.store = store;
    this.log = log;
    this.events = events;
    this.service = new EngineService(store, { onWaiting: (words) => this.waiting(words) });
    this.jobs = new JobQueue(this.service, {
      changed: (list) => {
        this.broadcast((to) => to.sendNotification(JobsChangedNotification, list));
        events.changed();
      },
      progress: (progress) => this.broadcast((to) => to.sendNotification(RunProgressNotification, progress)),
      log: (line) => log.write(line),
    });
    log.onLine = (line) => this.broadcast((to) => to.sendNotification(LogNotification, { line }));
  }

  /** True if a client is connected, a run is in progress or waits, or a request is in progress. */
  get needed(): boolean {
    return this.clients.size > 0 || !this.idle;
  }

  private get idle(): boolean {
    return !this.jobs.busy && this.asked === 0;
  }

  /** Serves a new client. When it disconnects, its requests are cancelled, but not its runs. */
  accept(socket: Socket): void {
    boundFrames(socket);
    const connection = createSocketConnection(socket);
    const client: Client = { connection, socket, kind: null, gone: new AbortController() };
    this.clients.add(client);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      client.gone.abort();
      this.clients.delete(client);
      connection.dispose();
      this.events.changed();
    });
    connection.onError(() => undefined);
    this.answer(client);
    connection.listen();
    this.events.changed();
  }

  /** Cancels all work, waits for its end and closes every connection. */
  async close(): Promise<void> {
    await this.service.close();
    for (const { socket } of this.clients) {
      socket.end();
    }
  }

  private answer(client: Client): void {
    const { connection } = client;
    const { jobs, service } = this;
    connection.onRequest(InitializeRequest, ({ store, client: kind }) =>
      this.answering(() => {
        if (store !== this.store) {
          throw new C3Error('engine', `This engine serves the store ${this.store}, not ${store}.`);
        }
        client.kind = kind;
        if (kind === 'window' && !client.gone.signal.aborted) {
          const leave = service.endpoints.windows.add(createClientWindow(connection, client.gone.signal));
          client.gone.signal.addEventListener('abort', leave, { once: true });
        }
        return {
          version: VERSION,
          protocol: PROTOCOL_VERSION,
          pid: process.pid,
          log: this.log.recent(),
          list: jobs.list(),
        };
      }),
    );
    connection.onRequest(YieldRequest, () =>
      this.answering(() => {
        // This request itself counts as one.
        const ending = !jobs.busy && this.asked === 1;
        if (ending) {
          this.endSoon();
        }
        return { ending };
      }),
    );
    connection.onRequest(OfferKeysRequest, ({ keys }) =>
      this.answering(() => {
        service.endpoints.offer(keys);
        return null;
      }),
    );
    connection.onRequest(ShutdownRequest, () =>
      this.answering(() => {
        this.endSoon();
        return null;
      }),
    );
    const handlers = this.handlers(client);
    for (const name of Object.keys(REQUESTS) as RequestName[]) {
      const { method, numberOfParams } = REQUESTS[name];
      // The tables of handlers and requests have the same keys, so the types match.
      const handle = handlers[name] as (params: unknown, signal: () => AbortSignal) => unknown;
      connection.onRequest(method, (...given: unknown[]) =>
        this.answering(() =>
          handle(numberOfParams === 0 ? undefined : given[0], () =>
            createRequestSignal(client, given.at(-1) as CancellationToken),
          ),
        ),
      );
    }
  }

  private handlers(client: Client): Handlers {
    const { jobs, service } = this;
    const sayFound = (words: string): void =>
      notifyClient(client, (to) => to.sendNotification(BlameProgressNotification, { words }));
    return {
      startRun: (params) => jobs.start(params, findClientKind(client)),
      replacement: (params) => service.replacement(params),
      resumeRun: ({ run }) => jobs.resume(run, findClientKind(client)),
      restartJob: ({ job }) => jobs.restart(job, findClientKind(client)),
      cancelRun: ({ job }) => jobs.cancel(job),
      jobs: () => jobs.list(),
      plan: async ({ config, overrides, folder = dirname(dirname(this.store)), text }, signal) =>
        service.plan(await readRecipe(config, overrides, folder, { text }), signal()),
      inspectModel: ({ folder }, signal) => inspectModel(folder, signal()),
      testModel: ({ folder, provider = DEFAULT_PROVIDER }, signal) =>
        testModel(folder, provider, {
          signal: signal(),
          onProgress: (progress) =>
            notifyClient(client, (to) => to.sendNotification(TestModelProgressNotification, { folder, progress })),
        }),
      replay: (params, signal) => this.replay(client, params, signal()),
      blame: (params, signal) =>
        service.blame(params, {
          signal: signal(),
          onProgress: ({ evaluatorCalls, curve: [start], most }) => {
            const chance = start === undefined || start.n === 0 ? '' : `, ${formatChance(start, most)} at the start`;
            sayFound(`${describeCallProgress(evaluatorCalls, params.budget)}${chance}`);
          },
          onRemark: (line) => this.log.write(line),
        }),
      blameRun: (params, signal) =>
        service.blameRun(params, {
          signal: signal(),
          onProgress: (calls) => sayFound(describeCallProgress(calls, params.budget)),
          onRemark: (line) => this.log.write(line),
        }),
      blameCosts: (params) => service.blameCosts(params),
      assistantSearch: async (params) => {
        const { request, words } = await prepareSearch(params, (one) => service.blameCosts(one));
        return { request, words };
      },
      assistantRunSearch: async (params) => {
        const { request, words } = await prepareRunSearch(params, (one) => service.runBlameCosts(one));
        return { request, words };
      },
      lostProblems: ({ run }) => service.lostProblems(run),
      trialCosts: (params) => service.trialCosts(params),
      tryChange: (params, signal) =>
        service.tryChange(params, {
          signal: signal(),
          onProgress: (calls, budget) =>
            notifyClient(client, (to) =>
              to.sendNotification(TrialProgressNotification, { words: describeCallProgress(calls, budget) }),
            ),
        }),
      keepFinding: (params, signal) => service.keepFinding(params, signal()),
      checkFinding: (params, signal) => service.checkFinding(params, signal()),
      replayCosts: (params) => service.replayCosts(params),
      assistantReplay: async (params) => {
        const { request, words } = await prepareReplay(params, (one) => service.replayCosts(one));
        return { request, words };
      },
      verifyCosts: ({ message }) => service.verifyCosts(message),
      verify: ({ message, again = false }, signal) =>
        service.verifyMessage(message, {
          again,
          signal: signal(),
          onProgress: (done, total) =>
            notifyClient(client, (to) => to.sendNotification(VerifyProgressNotification, { message, done, total })),
        }),
      contextTokens: ({ message }, signal) => service.contextTokens(message, signal()),
      taxonomy: (params) => service.taxonomyView(params),
      label: (params, signal) => service.label(params, signal()),
      noteRun: (params, signal) => service.noteRun(params, signal()),
      noteEpisode: (params, signal) => service.noteEpisode(params, signal()),
      deleteRun: ({ run }, signal) => service.deleteRun(run, signal()),
      importLog: (params, signal) => service.importLog(params, signal()),
      record: (params, signal) => this.record(client, params, signal()),
      updateStore: (_, signal) => service.writing('update of the store', signal(), () => null),
      doctor: () => examineMachine(this.store),
    };
  }

  /** Runs a user's program. Its calls go to a server, or to a model that is served meanwhile. */
  private async record(
    client: Client,
    { upstream, serve, ...params }: RecordParams,
    signal: AbortSignal,
  ): Promise<Recorded> {
    const tell = (progress: RecordProgress): void =>
      notifyClient(client, (to) => to.sendNotification(RecordProgressNotification, progress));
    const settings = {
      ...params,
      quiet: true,
      onLine: (line: string) => tell({ line }),
      onMessage: (messages: number) => tell({ messages }),
    };
    if (serve === null) {
      return record(this.service, { ...settings, upstream: findUpstream(upstream, params.env), served: null }, signal);
    }
    await using own = await serveFolder(findModelToServe(serve, params.folder), { signal });
    return await record(this.service, { ...settings, upstream: own.url, served: own }, signal);
  }

  private async replay(client: Client, params: ReplayParams, signal: AbortSignal): Promise<ReplayResult> {
    const given = await this.service.replay(params, {
      signal,
      onProgress: (bucket, done, total) => {
        notifyClient(client, (to) =>
          to.sendNotification(ReplayProgressNotification, { message: params.message, bucket, done, total }),
        );
      },
      onRemark: (line) => this.log.write(line),
    });
    // The alternatives are already shown; now verify them.
    return { ...given, ...(await this.service.proveBucket(given.id, signal)) };
  }

  /** Ends the engine after the answer is sent. A client takes a closed connection as the answer, too. */
  private endSoon(): void {
    setTimeout(() => this.events.end(), ANSWER_MILLISECONDS);
  }

  private waiting(words: string | null): void {
    if (words !== null) {
      this.log.write(words);
    }
    this.jobs.waiting(words);
    this.broadcast((to) => to.sendNotification(StoreWaitNotification, { words }));
  }

  /** Converts thrown errors to the two codes of the protocol. */
  private async answering<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    this.asked++;
    try {
      return await work();
    } catch (error) {
      if (error instanceof CancelledError) {
        throw new ResponseError(CANCELLED_CODE, error.message);
      }
      const data = toFailureData(error);
      this.log.write(
        error instanceof C3Error
          ? `${data.kind}: ${error.message}`
          : error instanceof Error
            ? (error.stack ?? error.message)
            : toErrorMessage(error),
      );
      throw new ResponseError(FAILED_CODE, toErrorMessage(error), data);
    } finally {
      this.asked--;
      this.events.changed();
    }
  }

  /** Notifies every client that has sent its kind. */
  private broadcast(notify: Notify): void {
    for (const client of this.clients) {
      if (client.kind !== null) {
        notifyClient(client, notify);
      }
    }
  }
}

type Notify = (connection: MessageConnection) => Promise<void>;

const findClientKind = ({ kind }: Client): ClientKind => kind ?? 'window';

/** Returns a signal that aborts when a client cancels its request or disconnects. */
function createRequestSignal(client: Client, token: CancellationToken): AbortSignal {
  const asked = new AbortController();
  if (token.isCancellationRequested) {
    // The token fires no event if it was cancelled before the request was read.
    asked.abort();
  } else {
    token.onCancellationRequested(() => asked.abort());
  }
  return combineSignals(client.gone.signal, asked.signal);
}

/** Notifies a client. A client that has disconnected is not an error. */
function notifyClient(client: Client, notify: Notify): void {
  if (!client.gone.signal.aborted) {
    notify(client.connection).catch(() => undefined);
  }
}

/** Error codes of an ending connection, which are not from a window. */
const OF_CONNECTION: ReadonlySet<number> = new Set([
  ErrorCodes.MessageWriteError,
  ErrorCodes.MessageReadError,
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
]);

/**
 * Asks the chat models of VS Code in the window of a client.
 * @param gone aborts when the client disconnects
 */
function createClientWindow(connection: MessageConnection, gone: AbortSignal): EditorModels {
  /** Waits for an answer, or for the end of the client. */
  const asked = async <Result>(
    send: (token: CancellationTokenSource['token']) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result | EditorFailure> => {
    throwIfAborted(signal);
    const source = new CancellationTokenSource();
    const left = Promise.withResolvers<never>();
    const releases = [
      onAbort(signal, () => {
        source.cancel();
        left.reject(new CancelledError());
      }),
      onAbort(gone, () => left.reject(new WindowGone())),
    ];
    try {
      return await Promise.race([send(source.token), left.promise]);
    } catch (error) {
      if (error instanceof ResponseError && error.code === ErrorCodes.MethodNotFound) {
        return { kind: 'missing', words: '' };
      }
      if (error instanceof CancelledError) {
        throw error;
      }
      throw error instanceof ResponseError && !gone.aborted && !OF_CONNECTION.has(error.code)
        ? new C3Error('engine', `A window of VS Code could not answer: ${error.message}`, { cause: error })
        : new WindowGone();
    } finally {
      for (const release of releases) {
        release();
      }
    }
  };
  return {
    open: (params, signal) => asked((token) => connection.sendRequest(EditorOpenRequest, params, token), signal),
    answer: (question, signal) =>
      asked((token) => connection.sendRequest(EditorAnswerRequest, question, token), signal),
    askWait: (wait, signal) => asked((token) => connection.sendRequest(EditorWaitRequest, wait, token), signal),
  };
}

/** Most bytes of a message. The longest are texts that a person types. */
const MOST_FRAME_BYTES = 1 << 24;
const MOST_HEADER_BYTES = 4096;
const END_OF_HEADER = '\r\n\r\n';

/**
 * Closes the connection at the first frame that is invalid or too long, before it is buffered. Must
 * be called before anything reads the socket.
 */
function boundFrames(socket: Socket): void {
  const frames = new FrameCounter();
  socket.prependListener('data', (chunk: Buffer) => {
    if (!frames.allows(chunk)) {
      socket.destroy();
    }
  });
}

/** Follows the frames of a stream. Reads headers, and skips bodies by their length. */
class FrameCounter {
  private header = '';
  /** Remaining bytes of the body. */
  private left = 0;

  /** Returns false from the first frame that is invalid or too long. */
  allows(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length;) {
      if (this.left > 0) {
        const taken = Math.min(this.left, chunk.length - at);
        this.left -= taken;
        at += taken;
        continue;
      }
      const known = this.header.length;
      this.header += chunk.toString('latin1', at, at + MOST_HEADER_BYTES);
      const end = this.header.indexOf(END_OF_HEADER);
      if (end === -1) {
        return this.header.length < MOST_HEADER_BYTES;
      }
      const length = Number(
        /^content-length: *(\d{1,15})$/imu.exec(this.header.slice(0, end).replaceAll('\r', ''))?.[1] ?? NaN,
      );
      if (!(length <= MOST_FRAME_BYTES)) {
        return false;
      }
      at += end + END_OF_HEADER.length - known;
      this.left = length;
      this.header = '';
    }
    return true;
  }
}
