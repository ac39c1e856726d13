/**
 * A store's engine as a window or a command sees it: found or started when first needed, spoken to in JSON-RPC, found
 * anew after it ended.
 */
import type { Socket } from 'node:net';
import {
  createMessageConnection,
  ResponseError,
  SocketMessageReader,
  SocketMessageWriter,
  type CancellationToken,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import {
  CANCELLED_CODE,
  CancelRunRequest,
  ContextTokensRequest,
  DoctorRequest,
  FAILED_CODE,
  InitializeRequest,
  InspectModelRequest,
  JobsChangedNotification,
  JobsRequest,
  LabelRequest,
  LogNotification,
  PlanRequest,
  PROTOCOL_VERSION,
  ReplayProgressNotification,
  ReplayRequest,
  RestartJobRequest,
  ResumeRunRequest,
  RunProgressNotification,
  ShutdownRequest,
  StartRunRequest,
  StoreWaitNotification,
  TaxonomyRequest,
  TestModelProgressNotification,
  TestModelRequest,
  UpdateStoreRequest,
  VerifyProgressNotification,
  VerifyRequest,
  YieldRequest,
  type CancelResult,
  type DoctorReport,
  type InitializeResult,
  type InspectModelParams,
  type PlanParams,
  type ReplayParams,
  type ReplayProgress,
  type ResumeRunParams,
  type StartRunParams,
  type TestModelParams,
  type TestModelProgress,
  type VerifyParams,
  type VerifyProgress,
} from '../shared/protocols/engineProtocol.ts';
import type { ContextTokens } from '../shared/transcript/contextTokens.ts';
import { C3Error, CancelledError, errorOfFailure, messageOf } from '../shared/errors.ts';
import {
  jobInProgress,
  type ClientKind,
  type JobList,
  type RunJob,
  type RunProgress,
} from '../shared/protocols/jobs.ts';
import type { ModelFacts, RunPlan, SelfTestStep } from '../shared/models.ts';
import type { VerificationReport } from '../shared/records/verification.ts';
import type { ReplayResult } from '../shared/records/settle.ts';
import type { CaseLabel, LabelParams, TaxonomyParams, TaxonomyView } from '../shared/records/taxonomy.ts';
import { connectOrStart, connectToEngine } from './startEngine.ts';

/** An engine that was just ending is met once or twice at most. */
const ATTEMPTS = 5;

export interface EngineEvents {
  /** One line of the engine's log. */
  log(line: string): void;
  /** The runs that are asked for, wait, go on or have ended. */
  jobs(list: JobList): void;
  runProgress(progress: RunProgress): void;
  replayProgress(progress: ReplayProgress): void;
  verifyProgress(progress: VerifyProgress): void;
  testModelProgress(progress: TestModelProgress): void;
  /** For whom the engine waits to write the store; null when the wait is over. */
  waiting(words: string | null): void;
  /** The engine answered its first request. */
  ready(result: InitializeResult): void;
  /** The connection ended; requests that were under way have failed. */
  ended(): void;
}

export interface ClientOptions {
  /** Absolute path of the engine's entry. */
  readonly script: string;
  /** Absolute path of the store. */
  readonly store: string;
  readonly kind: ClientKind;
  /** The product's version; an idle engine of another one gives way to it. */
  readonly version: string;
}

interface Live {
  readonly connection: MessageConnection;
  readonly socket: Socket;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<undefined>;
  readonly hello: InitializeResult;
}

export class EngineClient {
  private readonly options: ClientOptions;
  private readonly events: EngineEvents;
  private live: Live | null = null;
  private joining: Promise<Live | null> | null = null;
  private disposed = false;

  constructor(options: ClientOptions, events: EngineEvents) {
    this.options = options;
    this.events = events;
  }

  /** Whether there is a connection. */
  get attached(): boolean {
    return this.live !== null;
  }

  /** Connects to the engine if there is one; none is started. @returns whether there is a connection */
  async attach(): Promise<boolean> {
    if (this.disposed) {
      return false;
    }
    return (await this.join(false)) !== null;
  }

  /**
   * Puts a run into the queue; answers with its job. It goes on whether or not this client stays.
   * @throws C3Error with the engine's one-line message where it cannot be run
   */
  startRun(params: StartRunParams): Promise<RunJob> {
    return this.ask((connection) => connection.sendRequest(StartRunRequest, params));
  }

  /** Puts an interrupted run into the queue, to be taken to its end. Errors as startRun. */
  resumeRun(params: ResumeRunParams): Promise<RunJob> {
    return this.ask((connection) => connection.sendRequest(ResumeRunRequest, params));
  }

  /** Asks again for a job that had never begun. Errors as startRun. */
  restartJob(job: string): Promise<RunJob> {
    return this.ask((connection) => connection.sendRequest(RestartJobRequest, { job }));
  }

  /** Cancels a run, whoever asked for it. @param job the job, or its run */
  cancelRun(job: string): Promise<CancelResult> {
    return this.ask((connection) => connection.sendRequest(CancelRunRequest, { job }));
  }

  /** The runs that are asked for, wait, go on or have ended. */
  jobs(): Promise<JobList> {
    return this.ask((connection) => connection.sendRequest(JobsRequest));
  }

  /**
   * Replays one message; alternatives arrive as progress meanwhile. The token cancels it in the engine.
   * @throws CancelledError when it was cancelled, C3Error with the engine's one-line message when it failed or ended
   */
  replay(params: ReplayParams, token: CancellationToken): Promise<ReplayResult> {
    return this.ask((connection) => connection.sendRequest(ReplayRequest, params, token));
  }

  /** Re-executes the replays of one message. Errors as replay. */
  verify(params: VerifyParams, token: CancellationToken): Promise<VerificationReport> {
    return this.ask((connection) => connection.sendRequest(VerifyRequest, params, token));
  }

  /** Where the tokens of a message and its context begin and end. Errors as replay. */
  contextTokens(message: number): Promise<ContextTokens> {
    return this.ask((connection) => connection.sendRequest(ContextTokensRequest, { message }));
  }

  /** The failure taxonomy of a run. Errors as replay. */
  taxonomy(params: TaxonomyParams): Promise<TaxonomyView> {
    return this.ask((connection) => connection.sendRequest(TaxonomyRequest, params));
  }

  /** Appends the user's label on a bucket. Errors as replay. */
  label(params: LabelParams): Promise<CaseLabel> {
    return this.ask((connection) => connection.sendRequest(LabelRequest, params));
  }

  /** What a model folder holds, by the headers of its files. Errors as replay. */
  inspectModel(params: InspectModelParams): Promise<ModelFacts> {
    return this.ask((connection) => connection.sendRequest(InspectModelRequest, params));
  }

  /** What a run would need and cost; nothing is loaded. Errors as replay. */
  plan(params: PlanParams): Promise<RunPlan> {
    return this.ask((connection) => connection.sendRequest(PlanRequest, params));
  }

  /**
   * Tries a model folder out; steps arrive as progress meanwhile. Token and errors as replay; a step that failed is an
   * answer.
   */
  testModel(params: TestModelParams, token: CancellationToken): Promise<readonly SelfTestStep[]> {
    return this.ask((connection) => connection.sendRequest(TestModelRequest, params, token));
  }

  /** What the machine can do, by the engine's own word. Errors as replay. */
  doctor(): Promise<DoctorReport> {
    return this.ask((connection) => connection.sendRequest(DoctorRequest));
  }

  /** Brings a store of an older version up to date. Errors as replay. */
  async updateStore(): Promise<void> {
    await this.ask((connection) => connection.sendRequest(UpdateStoreRequest));
  }

  /** Ends the engine with what goes on in it; nothing where none lives. */
  async shutdown(): Promise<void> {
    const live = await this.join(false);
    if (live === null) {
      return;
    }
    await Promise.race([
      live.connection.sendRequest(ShutdownRequest).then(
        () => undefined,
        () => undefined,
      ),
      live.ended,
    ]);
    await live.ended;
  }

  /** Ends the connection; the engine goes on with its runs. */
  async dispose(): Promise<void> {
    this.disposed = true;
    const live = this.live ?? (await this.joining?.catch(() => null)) ?? null;
    live?.connection.end();
    live?.socket.destroy();
    await live?.ended;
  }

  private async ask<Result>(send: (connection: MessageConnection) => Promise<Result>): Promise<Result> {
    const live = await this.join(true);
    if (live === null) {
      throw new C3Error('engine', 'The engine could not be reached: try again.');
    }
    const ended = live.ended.then((): never => {
      throw new C3Error('engine', 'The engine ended before it had answered: see the log, then try again.');
    });
    try {
      return await Promise.race([send(live.connection), ended]);
    } catch (error) {
      if (!(error instanceof ResponseError) && live.socket.destroyed) {
        await ended;
      }
      throw errorOf(error);
    }
  }

  /**
   * The connection, made where there is none.
   * @param start starts an engine where none lives; null where none does otherwise
   */
  private async join(start: boolean): Promise<Live | null> {
    for (;;) {
      if (this.disposed) {
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
      // Whoever only looked found none; whoever has work starts one.
      if (joined !== null || !start) {
        return joined;
      }
    }
  }

  private async connect(start: boolean): Promise<Live | null> {
    const { store, script, version } = this.options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const socket = start ? await connectOrStart(store, script) : await connectToEngine(store);
      if (socket === null) {
        return null;
      }
      const live = await this.greet(socket);
      // It ended just then: there will be another one.
      if (live === null) {
        continue;
      }
      const { hello } = live;
      const same = hello.protocol === PROTOCOL_VERSION && hello.version === version;
      if (same || (!start && hello.protocol === PROTOCOL_VERSION)) {
        return this.adopt(live);
      }
      // One that ends at once may do so before its answer is out.
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
        return this.adopt(live);
      }
      const busy = jobInProgress(hello.list.jobs);
      live.socket.destroy();
      if (!start) {
        return null;
      }
      throw new C3Error(
        'engine',
        `The engine of this store is of C3 ${hello.version} and this is ${version}; ${busy === null ? 'it is at work' : `"${busy.title}" goes on in it`}: wait for its end, or cancel it there. Reading works meanwhile.`,
      );
    }
    throw new C3Error(
      'engine',
      'The engine ended again and again before it could be used: see the log, then try again.',
    );
  }

  /** Introduces this client; null where the connection ended before the answer. */
  private async greet(socket: Socket): Promise<Live | null> {
    const { store, kind } = this.options;
    const { events } = this;
    const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
    const ended = new Promise<undefined>((resolve) => {
      socket.once('close', () => {
        resolve(undefined);
      });
    });
    socket.on('error', () => undefined);
    connection.onError(([error]) => {
      events.log(`connection: ${messageOf(error)}`);
    });
    connection.onNotification(RunProgressNotification, (progress) => {
      events.runProgress(progress);
    });
    connection.onNotification(ReplayProgressNotification, (progress) => {
      events.replayProgress(progress);
    });
    connection.onNotification(VerifyProgressNotification, (progress) => {
      events.verifyProgress(progress);
    });
    connection.onNotification(TestModelProgressNotification, (progress) => {
      events.testModelProgress(progress);
    });
    connection.onNotification(JobsChangedNotification, (list) => {
      events.jobs(list);
    });
    connection.onNotification(StoreWaitNotification, ({ words }) => {
      events.waiting(words);
    });
    connection.onNotification(LogNotification, ({ line }) => {
      events.log(line);
    });
    connection.listen();
    const asked = connection.sendRequest(InitializeRequest, { store, protocol: PROTOCOL_VERSION, client: kind });
    const hello = await Promise.race([asked, ended]).catch((error: unknown) => {
      if (socket.destroyed) {
        return undefined;
      }
      socket.destroy();
      throw errorOf(error);
    });
    return hello === undefined ? null : { connection, socket, ended, hello };
  }

  private adopt(live: Live): Live {
    this.live = live;
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
      // Later, so that requests under way fail with the word on how the engine ended.
      setImmediate(() => {
        live.connection.dispose();
      });
    });
    return live;
  }
}

/** What went wrong in the words of the engine; cancellation stays apart from failure. */
function errorOf(error: unknown): Error {
  if (error instanceof C3Error) {
    return error;
  }
  if (!(error instanceof ResponseError)) {
    return new C3Error('engine', messageOf(error), { cause: error });
  }
  if (error.code === CANCELLED_CODE) {
    return new CancelledError();
  }
  return errorOfFailure(error.message, error.code === FAILED_CODE ? error.data : null, error);
}
