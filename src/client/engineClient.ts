/**
 * A store's engine as a window or a command sees it: found or started when first needed, spoken to in JSON-RPC, found
 * anew after it ended.
 */
import { ResponseError, type CancellationToken, type MessageConnection } from 'vscode-jsonrpc/node';
import {
  CancelRunRequest,
  ContextTokensRequest,
  DoctorRequest,
  ImportLogRequest,
  InspectModelRequest,
  JobsRequest,
  LabelRequest,
  PlanRequest,
  RecordRequest,
  ReplaceRequest,
  ReplayCostsRequest,
  ReplayRequest,
  RestartJobRequest,
  ResumeRunRequest,
  ShutdownRequest,
  StartRunRequest,
  TaxonomyRequest,
  TestModelRequest,
  UpdateStoreRequest,
  VerifyCostsRequest,
  VerifyRequest,
  type CancelResult,
  type DoctorReport,
  type ImportLogParams,
  type InspectModelParams,
  type PlanParams,
  type RecordParams,
  type ReplaceParams,
  type ReplayParams,
  type ResumeRunParams,
  type StartRunParams,
  type TestModelParams,
  type VerifyParams,
} from '../shared/protocols/engineProtocol.ts';
import type { ContextTokens } from '../shared/transcript/contextTokens.ts';
import { C3Error } from '../shared/errors.ts';
import type { JobList, RunJob } from '../shared/protocols/jobs.ts';
import type { ModelFacts, RunPlan, SelfTestStep } from '../shared/models.ts';
import type { VerificationReport } from '../shared/records/verification.ts';
import type { ReplayResult } from '../shared/records/settle.ts';
import type { EndpointCost } from '../shared/endpointCost.ts';
import type { LogImport, Recorded } from '../shared/records/logImport.ts';
import type { CaseLabel, LabelParams, TaxonomyParams, TaxonomyView } from '../shared/records/taxonomy.ts';
import { EngineConnection, errorOf, type ClientOptions, type EngineEvents } from './engineConnection.ts';

export class EngineClient {
  private readonly link: EngineConnection;

  constructor(options: ClientOptions, events: EngineEvents) {
    this.link = new EngineConnection(options, events);
  }

  /** Whether there is a connection. */
  get attached(): boolean {
    return this.link.attached;
  }

  /** Connects to the engine if there is one; none is started. @returns whether there is a connection */
  async attach(): Promise<boolean> {
    if (this.link.disposed) {
      return false;
    }
    return (await this.link.join(false)) !== null;
  }

  /**
   * Puts a run into the queue; answers with its job. It continues whether or not this client stays.
   * @throws C3Error with the engine's one-line message where it cannot be run
   */
  startRun(params: StartRunParams): Promise<RunJob> {
    return this.ask((connection) => connection.sendRequest(StartRunRequest, params));
  }

  /** The run that begins with an agent of another one's team replaced; nothing is started. Errors as startRun. */
  replacement(params: ReplaceParams): Promise<StartRunParams> {
    return this.ask((connection) => connection.sendRequest(ReplaceRequest, params));
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

  /** What a replay may ask of servers at most. Errors as replay. */
  replayCosts(params: ReplayParams): Promise<readonly EndpointCost[]> {
    return this.ask((connection) => connection.sendRequest(ReplayCostsRequest, params));
  }

  /** What verifying a message may ask of servers at most. Errors as replay. */
  verifyCosts(message: number): Promise<readonly EndpointCost[]> {
    return this.ask((connection) => connection.sendRequest(VerifyCostsRequest, { message }));
  }

  /** Gives the keys that the user keeps to an engine that is there; another one has them as it is joined. */
  async offerKeys(): Promise<void> {
    await this.link.offerKeys();
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

  /** Stores a log of other programs as a run. Errors as replay. */
  importLog(params: ImportLogParams): Promise<LogImport> {
    return this.ask((connection) => connection.sendRequest(ImportLogRequest, params));
  }

  /**
   * Runs a user's own program and stores what its agents say; lines and counts arrive as progress meanwhile. The token
   * ends the program, whose recording is an answer all the same. Errors as replay.
   */
  record(params: RecordParams, token: CancellationToken): Promise<Recorded> {
    return this.ask((connection) => connection.sendRequest(RecordRequest, params, token));
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

  /** Ends the engine with what is in progress in it; nothing where none lives. */
  async shutdown(): Promise<void> {
    const live = await this.link.join(false);
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

  /** Ends the connection; the engine continues its runs. */
  dispose(): Promise<void> {
    return this.link.dispose();
  }

  private async ask<Result>(send: (connection: MessageConnection) => Promise<Result>): Promise<Result> {
    const live = await this.link.join(true);
    if (live === null) {
      throw new C3Error('engine', 'The engine could not be reached: try again.');
    }
    const ended = live.ended.then((): never => {
      throw new C3Error('engine', 'The engine ended before it answered: see the log, then try again.');
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
}
