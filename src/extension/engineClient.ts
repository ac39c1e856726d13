/** The engine process as the extension sees it: forked when first needed, spoken to in JSON-RPC, forked anew after it ended. */
import { fork, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import {
  createMessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  type CancellationToken,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import {
  CANCELLED_CODE,
  ContextTokensRequest,
  DoctorRequest,
  FAILED_CODE,
  InitializeRequest,
  InspectModelRequest,
  LabelRequest,
  PlanRequest,
  ReplayProgressNotification,
  ReplayRequest,
  ResumeRunRequest,
  RunProgressNotification,
  ShutdownRequest,
  StartRunRequest,
  TaxonomyRequest,
  TestModelProgressNotification,
  TestModelRequest,
  UpdateStoreRequest,
  VerifyProgressNotification,
  VerifyRequest,
  type DoctorReport,
  type InitializeResult,
  type InspectModelParams,
  type PlanParams,
  type ReplayParams,
  type ReplayProgress,
  type ResumeRunParams,
  type RunProgress,
  type StartRunParams,
  type TestModelParams,
  type TestModelProgress,
  type VerifyParams,
  type VerifyProgress,
} from '../shared/engineProtocol.ts';
import type { ContextTokens } from '../shared/contextTokens.ts';
import { C3Error, CancelledError, errorOfFailure, messageOf } from '../shared/errors.ts';
import type { ModelFacts, RunPlan, SelfTestStep } from '../shared/models.ts';
import type { BucketView, RunSummary, VerificationReport } from '../shared/records.ts';
import type { CaseLabel, LabelParams, TaxonomyParams, TaxonomyView } from '../shared/taxonomy.ts';

/** How long the engine may take to end by itself. */
const SHUTDOWN_MILLISECONDS = 3000;

export interface EngineEvents {
  /** One line that the engine wrote to its log. */
  log(line: string): void;
  runProgress(progress: RunProgress): void;
  replayProgress(progress: ReplayProgress): void;
  verifyProgress(progress: VerifyProgress): void;
  testModelProgress(progress: TestModelProgress): void;
  /** The engine answered its first request; a reason when it may only read. */
  ready(result: InitializeResult): void;
  /** The engine ended; requests that were under way have failed. */
  ended(): void;
}

interface Running {
  readonly child: ChildProcess;
  readonly connection: MessageConnection;
  /** Resolves when the process has ended, to the words that say how. */
  readonly ended: Promise<string>;
  readonly initialized: Promise<InitializeResult>;
}

export class EngineClient {
  private readonly script: string;
  private readonly store: string;
  private readonly events: EngineEvents;
  private running: Running | null = null;
  private disposed = false;

  /**
   * @param script absolute path of the engine's entry
   * @param store absolute path of the store
   */
  constructor(script: string, store: string, events: EngineEvents) {
    this.script = script;
    this.store = store;
    this.events = events;
  }

  /**
   * Trains or evaluates; answers at the end. The token cancels the run in the engine.
   * @throws CancelledError when it was cancelled, C3Error with the engine's one-line message when it failed or ended
   */
  startRun(params: StartRunParams, token: CancellationToken): Promise<RunSummary> {
    return this.ask((connection) => connection.sendRequest(StartRunRequest, params, token));
  }

  /** Takes an interrupted run to its end; answers there. Token and errors as startRun. */
  resumeRun(params: ResumeRunParams, token: CancellationToken): Promise<RunSummary> {
    return this.ask((connection) => connection.sendRequest(ResumeRunRequest, params, token));
  }

  /** Replays one message; alternatives arrive as progress meanwhile. Errors as startRun. */
  replay(params: ReplayParams, token: CancellationToken): Promise<BucketView> {
    return this.ask((connection) => connection.sendRequest(ReplayRequest, params, token));
  }

  /** Re-executes the replays of one message. Errors as startRun. */
  verify(params: VerifyParams, token: CancellationToken): Promise<VerificationReport> {
    return this.ask((connection) => connection.sendRequest(VerifyRequest, params, token));
  }

  /** Where the tokens of a message and its context begin and end. Errors as startRun. */
  contextTokens(message: number): Promise<ContextTokens> {
    return this.ask((connection) => connection.sendRequest(ContextTokensRequest, { message }));
  }

  /** The failure taxonomy of a run. Errors as startRun. */
  taxonomy(params: TaxonomyParams): Promise<TaxonomyView> {
    return this.ask((connection) => connection.sendRequest(TaxonomyRequest, params));
  }

  /** Appends the user's label on a bucket. Errors as startRun. */
  label(params: LabelParams): Promise<CaseLabel> {
    return this.ask((connection) => connection.sendRequest(LabelRequest, params));
  }

  /** What a model folder holds, by the headers of its files. Errors as startRun. */
  inspectModel(params: InspectModelParams): Promise<ModelFacts> {
    return this.ask((connection) => connection.sendRequest(InspectModelRequest, params));
  }

  /** What a run would need and cost; nothing is loaded. Errors as startRun. */
  plan(params: PlanParams): Promise<RunPlan> {
    return this.ask((connection) => connection.sendRequest(PlanRequest, params));
  }

  /** Tries a model folder out; steps arrive as progress meanwhile. Token and errors as startRun; a step that failed is an answer. */
  testModel(params: TestModelParams, token: CancellationToken): Promise<readonly SelfTestStep[]> {
    return this.ask((connection) => connection.sendRequest(TestModelRequest, params, token));
  }

  /** What the machine can do, by the engine's own word. Errors as startRun. */
  doctor(): Promise<DoctorReport> {
    return this.ask((connection) => connection.sendRequest(DoctorRequest));
  }

  /** Ends the engine: first it is asked to, then it is made to. */
  async dispose(): Promise<void> {
    this.disposed = true;
    const running = this.running;
    if (running === null) return;
    running.connection.sendRequest(ShutdownRequest).catch(() => undefined);
    const timer = setTimeout(() => { running.child.kill('SIGKILL'); }, SHUTDOWN_MILLISECONDS);
    await running.ended;
    clearTimeout(timer);
  }

  /** Brings a store of an older version up to date. Errors as startRun. */
  async updateStore(): Promise<void> {
    await this.ask((connection) => connection.sendRequest(UpdateStoreRequest));
  }

  private async ask<Result>(send: (connection: MessageConnection) => Promise<Result>): Promise<Result> {
    if (this.disposed) throw new C3Error('engine', 'The engine has been closed with its window: reload the window to use it again.');
    const running = (this.running ??= this.start());
    const ended = running.ended.then((how): never => {
      throw new C3Error('engine', `The engine ended (${how}) before it had answered: see the log, then try again.`);
    });
    try {
      await Promise.race([running.initialized, ended]);
      return await Promise.race([send(running.connection), ended]);
    } catch (error) {
      if (!(error instanceof ResponseError) && !running.child.connected) await ended;
      throw errorOf(error);
    }
  }

  private start(): Running {
    const child = fork(this.script, [], { stdio: ['pipe', 'pipe', 'pipe', 'ipc'], execArgv: [], env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' } });
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null) throw new C3Error('engine', 'The engine could not be started: its pipes are missing. Reload the window and try again.');
    // A write after the engine has ended is answered by `ended`.
    stdin.on('error', () => undefined);
    createInterface({ input: stderr }).on('line', (line) => { this.events.log(line); });
    const connection = createMessageConnection(new StreamMessageReader(stdout), new StreamMessageWriter(stdin));
    connection.onNotification(RunProgressNotification, (progress) => { this.events.runProgress(progress); });
    connection.onNotification(ReplayProgressNotification, (progress) => { this.events.replayProgress(progress); });
    connection.onNotification(VerifyProgressNotification, (progress) => { this.events.verifyProgress(progress); });
    connection.onNotification(TestModelProgressNotification, (progress) => { this.events.testModelProgress(progress); });
    connection.onError(([error]) => { this.events.log(`connection: ${messageOf(error)}`); });
    connection.listen();
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => { resolve(messageOf(error)); });
      child.once('exit', (code, signal) => { resolve(signal === null ? `exit code ${String(code)}` : `signal ${signal}`); });
    });
    const initialized = connection.sendRequest(InitializeRequest, { store: this.store });
    initialized.then((result) => { this.events.ready(result); }, () => undefined);
    const running = { child, connection, ended, initialized };
    void ended.then(() => {
      if (this.running === running) this.running = null;
      this.events.ended();
      // Later, so that requests under way fail with the word on how the engine ended.
      setImmediate(() => { connection.dispose(); });
    });
    return running;
  }
}

/** What went wrong in the words of the engine; cancellation stays apart from failure. */
function errorOf(error: unknown): Error {
  if (error instanceof C3Error) return error;
  if (!(error instanceof ResponseError)) return new C3Error('engine', messageOf(error), { cause: error });
  if (error.code === CANCELLED_CODE) return new CancelledError();
  return errorOfFailure(error.message, error.code === FAILED_CODE ? error.data : null, error);
}
