/** The typed JSON-RPC messages between an engine and its clients, the windows and the command line. */

import { NotificationType, RequestType, RequestType0 } from 'vscode-jsonrpc';
import type { Blame, RunBlame, CheckedFinding, Expectation, KeptFinding } from '../../domain/answer.ts';
import type { LogImport, Recorded } from '../../domain/episode.ts';
import type { NotedEpisode, NoteEpisodeParams } from '../../domain/episodeNote.ts';
import type { LostProblemRow, RightAnswer } from '../../domain/problem.ts';
import type { ContinuationChoice, BucketView, ReplayResult, Settle } from '../../domain/replay.ts';
import type { NoteRunParams, RunNote } from '../../domain/run.ts';
import type { Selection } from '../../domain/selection.ts';
import type { CaseLabel, LabelParams, TaxonomyParams, TaxonomyView } from '../../domain/taxonomy.ts';
import type { TeamChange, Trial, TrialProblems } from '../../domain/trial.ts';
import type { VerificationReport } from '../../domain/verification.ts';
import type { DeviceRequest } from '../devices.ts';
import type { EndpointCost, SpendingChoice } from '../endpointCost.ts';
import type { ModelFacts, RunPlan, SelfTestProgress, SelfTestStep } from '../models.ts';
import type { Rename } from '../speakerNames.ts';
import type { ContextTokens } from '../transcript/contextTokens.ts';
import type { ClientKind, JobList, RunJob, RunProgress } from './jobs.ts';

/** The version of these messages; `initialize` and `engine/yield` stay as they are in every version. */
export const PROTOCOL_VERSION = 2;

export interface InitializeParams {
  /** Absolute path of the store; created with its folder when the first run starts. */
  readonly store: string;
  readonly protocol: number;
  readonly client: ClientKind;
}

export interface InitializeResult {
  readonly version: string;
  readonly protocol: number;
  readonly pid: number;
  /** The last lines of the engine's log. */
  readonly log: readonly string[];
  readonly list: JobList;
}

export interface YieldResult {
  /** True if the engine ends now, because nothing is in progress in it. */
  readonly ending: boolean;
}

export interface StartRunParams {
  /** Absolute path of a *.c3.yaml, or null for the bundled team's defaults. */
  readonly config: string | null;
  /** `key.path=value`, as on the command line. */
  readonly overrides: readonly string[];
  /** The folder for relative paths if no configuration file names them; the default is the workspace. */
  readonly folder?: string;
}

/**
 * The training before the run when a policy of a trained team is replaced: stage 0, none (direct), or
 * all anew (retrain).
 */
export type ReplaceStrategy = 'align' | 'direct' | 'retrain';

export interface ReplaceParams {
  /** The run that trained the team. */
  readonly run: string;
  readonly role: string;
  /**
   * The replacement: `base`, `bundled-small`, the folder of an adapter or of a model, or RUN, RUN:STEP
   * or RUN:STEP:ROLE.
   */
  readonly source: string;
  readonly strategy: ReplaceStrategy;
  /** `key.path=value`, changes of the new run's configuration. */
  readonly overrides: readonly string[];
  /** The folder for relative paths. */
  readonly folder: string;
}

/** A job by its id, or by its run. */
export interface JobParams {
  readonly job: string;
}

export interface CancelResult {
  /**
   * The cancelled job: the run in progress, one that waited for its turn, one of another process, or one
   * that had never begun; null if there was none.
   */
  readonly cancelled: 'running' | 'queued' | 'elsewhere' | 'unstarted' | null;
}

export interface StoreWait {
  /** The process that the engine waits for to write the store, in words; null when the wait is over. */
  readonly words: string | null;
}

export interface LogLine {
  readonly line: string;
}

export interface RunParams {
  /** A run of the store. */
  readonly run: string;
}

export interface ReplayParams {
  readonly message: number;
  /** Fresh samples from the frozen context. */
  readonly alternatives: number;
  /** Continuations of each alternative; a terminal role is always scored once. */
  readonly replays: number;
  /** A typed alternative, in addition to the sampled ones. */
  readonly text: string | null;
  /**
   * Another result of the tool that a recorded message called; its alternative is in addition to the
   * sampled ones.
   */
  readonly result?: string | null;
  /** If true, there are no common random numbers; every alternative draws its own. */
  readonly independent?: boolean;
  /** Another snapshot, temperature or model for the continuations; by default as recorded. */
  readonly continuation?: ContinuationChoice;
  /**
   * Paired replays until the credit is decided, in place of `alternatives` and `replays`; refused with a
   * text or independent numbers.
   */
  readonly settle?: Settle;
  /** The spending limit at each server for the run and its replays; by default the configuration's. */
  readonly spending?: SpendingChoice;
  /**
   * For a message that was recorded elsewhere: the file that names its policies and the program that
   * continues it.
   */
  readonly team?: string;
  /** SHA-256 (hex) of the team file's bytes that the user agreed to; other bytes are refused. */
  readonly teamHash?: string;
}

/** A replay that an assistant asks for. */
export interface ReplayAsked {
  readonly message: number;
  readonly alternatives?: number;
  readonly replays?: number;
  /** A text to try in the place of the message, in addition to sampled ones. */
  readonly text?: string;
  /** Another result of the tool that the message called; for recorded messages only. */
  readonly result?: string;
  /** The team file of a recorded message, relative to the folder; the program that it names is started. */
  readonly team?: string;
  readonly max_evaluator_calls: number;
}

export interface AssistantReplayParams extends Pick<ReplayParams, 'spending'> {
  readonly asked: ReplayAsked;
  /** Absolute path of the folder whose files the assistant may name. */
  readonly folder: string;
}

/** The request for a replay of an assistant, with the text that the user must agree to first. */
export interface AssistantReplay {
  readonly request: ReplayParams;
  /** The largest cost and the programs to start, as a sentence without its end. */
  readonly words: string;
}

export interface BlameParams extends Pick<ReplayParams, 'team' | 'teamHash' | 'spending'> {
  /** Any message of the episode; of several episodes, the one with the least return is searched. */
  readonly message: number;
  /** Evaluator calls that may be spent. */
  readonly budget: number;
}

/** An assistant's request to find the message that lost an episode. */
export interface SearchAsked {
  /** Any message of the episode. */
  readonly message: number;
  /** The team file of a recorded episode, relative to the folder; the program that it names is started. */
  readonly team?: string;
  readonly max_evaluator_calls: number;
}

export interface AssistantSearchParams extends Pick<ReplayParams, 'spending'> {
  readonly asked: SearchAsked;
  /** Absolute path of the folder whose files the assistant may name. */
  readonly folder: string;
}

/** The request for a search of an assistant, with the text that the user must agree to first. */
export interface AssistantSearch {
  readonly request: BlameParams;
  /** The largest cost and the programs to start, as a sentence without its end. */
  readonly words: string;
}

export interface RunBlameParams extends Pick<ReplayParams, 'team' | 'teamHash' | 'spending'> {
  readonly run: string;
  /** The selected lost episodes; the default is all. */
  readonly only?: Selection;
  /** Evaluator calls that may be spent. */
  readonly budget: number;
}

/** An assistant's request to find the losses of a run's episodes. */
export interface RunSearchAsked {
  readonly run: string;
  /** The team file of a run that was recorded elsewhere, relative to the folder; its program is started. */
  readonly team?: string;
  readonly max_evaluator_calls: number;
}

export interface AssistantRunSearchParams extends Pick<ReplayParams, 'spending'> {
  readonly asked: RunSearchAsked;
  /** Absolute path of the folder whose files the assistant may name. */
  readonly folder: string;
}

/** The request for a run search of an assistant, with the text that the user must agree to first. */
export interface AssistantRunSearch {
  readonly request: RunBlameParams;
  /** The largest cost and the programs to start, as a sentence without its end. */
  readonly words: string;
}

export interface TrialParams extends Pick<ReplayParams, 'team'> {
  readonly run: string;
  readonly change: TeamChange;
  readonly problems: TrialProblems;
  /** The selected problems; the default is all. */
  readonly only?: Selection;
  /** The message in whose context both sides begin, instead of problems. */
  readonly message?: number;
  /** Evaluator calls of both sides together. */
  readonly budget: number;
  /** The spending limit at each server for the run and its replays; by default the configuration's. */
  readonly spending?: SpendingChoice;
}

export interface KeepFindingParams {
  readonly message: number;
  /** Absolute path of the file, or of the folder that gets a file with a generated name. */
  readonly out: string;
  readonly draws: number;
  readonly expect: Expectation;
}

export interface CheckFindingParams {
  /** Absolute path. */
  readonly file: string;
  /** A model folder that draws in place of the finding's own weights, or null for the latter. */
  readonly model: string | null;
}

/** Progress of a search for the losses of an episode or of a run. */
export interface BlameProgress {
  readonly words: string;
}

/** Progress of a trial of a change. */
export interface TrialProgress {
  readonly words: string;
}

export interface OfferKeysParams {
  /** Keys of servers by the names of their variables (C3_KEY_HOST). They are kept only in memory. */
  readonly keys: Readonly<Record<string, string>>;
}

export interface ReplayProgress {
  readonly message: number;
  readonly bucket: BucketView;
  /** Complete alternatives of `total`. While a credit is being settled, replays of at most `total`. */
  readonly done: number;
  readonly total: number;
}

export interface VerifyParams {
  /** The message whose replays are re-executed. */
  readonly message: number;
  /** If true, replays that no seed reproduces are sampled again, at their original cost. */
  readonly again?: boolean;
}

export interface VerifyProgress {
  readonly message: number;
  /** Re-executed replays of `total`. */
  readonly done: number;
  readonly total: number;
}

export interface ContextTokensParams {
  readonly message: number;
}

export interface ProviderReport {
  readonly name: string;
  readonly available: boolean;
  /** The result of its self-test, or the reason why it is not available. */
  readonly selfTest: string | null;
  /** The dependence of a row's result on the rows of its batch; null if it was not measured. */
  readonly batchInvariance: string | null;
  /** Name of its device. */
  readonly device: string | null;
}

export interface DoctorReport {
  readonly providers: readonly ProviderReport[];
  readonly versions: Readonly<Record<string, string>>;
  /** Faults of the store, one sentence each, and the extent examined; empty if there is no store. */
  readonly store: {
    readonly path: string;
    readonly state: string;
    readonly findings: readonly string[];
    readonly extent: string;
  };
}

export interface InspectModelParams {
  /** Absolute path. */
  readonly folder: string;
}

/** A plan of a run, which does not start it. */
export interface PlanParams extends StartRunParams {
  /** Unsaved content of the file of `config` in an editor; the file then need not exist. */
  readonly text?: string;
}

export interface TestModelParams {
  /** Absolute path. */
  readonly folder: string;
  /** The device; the default is the CPU. */
  readonly provider?: DeviceRequest;
}

export interface TestModelProgress {
  readonly folder: string;
  readonly progress: SelfTestProgress;
}

export interface ImportLogParams {
  /** Absolute path of the log. */
  readonly path: string;
  /** If true, texts that look like keys are masked before anything is stored. */
  readonly maskSecrets: boolean;
  /** Other names for speakers; the default is none. */
  readonly renames?: readonly Rename[];
}

export interface RecordParams {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Absolute path of its working directory. */
  readonly folder: string;
  /** The server that answers its calls; null for the one in the environment, or else the default one. */
  readonly upstream: string | null;
  /** The bundled team, or the folder, of a model that this machine serves; null if a server answers. */
  readonly serve: string | null;
  /** The environment of the program, which may hold its keys; the default is the engine's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** If true, texts that look like keys are masked before anything is stored. */
  readonly maskSecrets: boolean;
  /** The right answer to the program's question; null if it is unknown or the program scores itself. */
  readonly right: RightAnswer | null;
}

/** The number of messages stored so far, or a line that the program printed. */
export type RecordProgress = { readonly messages: number } | { readonly line: string };

export const InitializeRequest = new RequestType<InitializeParams, InitializeResult, void>('initialize');
/** Asks an engine of another version to end if nothing is in progress in it. */
export const YieldRequest = new RequestType0<YieldResult, void>('engine/yield');
/** Gives the engine the keys that the user keeps in the editor; they replace earlier ones. */
export const OfferKeysRequest = new RequestType<OfferKeysParams, null, void>('keys/offer');
/** Ends the engine and cancels all work in progress. */
export const ShutdownRequest = new RequestType0<null, void>('shutdown');

/**
 * The requests of a client. Each is a method of `EngineClient` and has its handler in `EngineServer`.
 * Long ones return at the end of the work, honor JSON-RPC cancellation and report progress meanwhile.
 */
export const REQUESTS = {
  /**
   * Like `resumeRun` and `restartJob`, it returns the job as soon as it is in the queue, and refuses a
   * run that cannot start. All clients get progress. The run continues even if the client leaves.
   */
  startRun: new RequestType<StartRunParams, RunJob, void>('run/start'),
  /** Returns the parameters of the run that begins with a policy replaced; nothing is started. */
  replacement: new RequestType<ReplaceParams, StartRunParams, void>('run/replace'),
  /** Continues a run that was cancelled, failed, or was interrupted by a crash, to its end. */
  resumeRun: new RequestType<RunParams, RunJob, void>('run/resume'),
  /** Returns the jobs that are queued, in progress or ended. */
  jobs: new RequestType0<JobList, void>('runs/status'),
  /** Cancels a run of this or another client. */
  cancelRun: new RequestType<JobParams, CancelResult, void>('runs/cancel'),
  /** Queues a job again that had never begun. */
  restartJob: new RequestType<JobParams, RunJob, void>('runs/restart'),
  /** Replays one message; alternatives arrive as progress. */
  replay: new RequestType<ReplayParams, ReplayResult, void>('replay/start'),
  /**
   * Finds the message that lost an episode. Partial results arrive as progress, and samples from before
   * a cancellation stay.
   */
  blame: new RequestType<BlameParams, Blame, void>('blame/start'),
  /** Returns upper bounds of what such a search asks of the servers of a recorded team; nothing is asked. */
  blameCosts: new RequestType<BlameParams, readonly EndpointCost[], void>('blame/costs'),
  /** Returns the question to the user before an assistant's search; nothing is started. */
  assistantSearch: new RequestType<AssistantSearchParams, AssistantSearch, void>('blame/assistant'),
  /** Finds the losses of the episodes of a run, in the same way. */
  blameRun: new RequestType<RunBlameParams, RunBlame, void>('blame/run'),
  /** Returns the question to the user before an assistant's search of a run; nothing is started. */
  assistantRunSearch: new RequestType<AssistantRunSearchParams, AssistantRunSearch, void>('blame/assistantRun'),
  /** Returns the results of earlier searches for the lost problems of a run; nothing is replayed. */
  lostProblems: new RequestType<RunParams, readonly LostProblemRow[], void>('blame/problems'),
  /** Returns upper bounds of what such a trial asks of servers; nothing is asked. */
  trialCosts: new RequestType<TrialParams, readonly EndpointCost[], void>('trial/costs'),
  /** Tries a change of a run's team on its held-out problems; nothing is stored. */
  tryChange: new RequestType<TrialParams, Trial, void>('trial/start'),
  /** Keeps a message as a test, in a file. */
  keepFinding: new RequestType<KeepFindingParams, KeptFinding, void>('finding/keep'),
  /** Draws a finding again. The answer contains the reason if this was not possible. */
  checkFinding: new RequestType<CheckFindingParams, CheckedFinding, void>('finding/check'),
  /** Returns upper bounds of what a replay asks of servers; nothing is asked. */
  replayCosts: new RequestType<ReplayParams, readonly EndpointCost[], void>('replay/costs'),
  /** Returns the question to the user before an assistant's replay; nothing is started. */
  assistantReplay: new RequestType<AssistantReplayParams, AssistantReplay, void>('replay/assistant'),
  /**
   * Returns upper bounds of what verifying a message asks of servers if replays without seeds are
   * sampled again.
   */
  verifyCosts: new RequestType<{ readonly message: number }, readonly EndpointCost[], void>('verify/costs'),
  /** Re-executes the replays of one message. */
  verify: new RequestType<VerifyParams, VerificationReport, void>('verify/start'),
  /** Returns the failure taxonomy of a run. */
  taxonomy: new RequestType<TaxonomyParams, TaxonomyView, void>('taxonomy'),
  /** Updates a store of an older version. */
  updateStore: new RequestType0<null, void>('store/update'),
  /** Appends a label; waits while another process writes the store. */
  label: new RequestType<LabelParams, CaseLabel, void>('taxonomy/label'),
  /** Appends the user's title, note and tags of a run. */
  noteRun: new RequestType<NoteRunParams, RunNote, void>('run/note'),
  /** Appends the user's score, note and tags of an episode. */
  noteEpisode: new RequestType<NoteEpisodeParams, NotedEpisode, void>('episode/note'),
  /** Deletes a run with its files; returns the bytes that were freed. */
  deleteRun: new RequestType<RunParams, number, void>('run/delete'),
  /** Stores what other programs recorded of their agents; a log that is stored already changes nothing. */
  importLog: new RequestType<ImportLogParams, LogImport, void>('log/import'),
  /**
   * Runs a user's own program and stores the messages of its agents. It returns when the program has
   * ended; cancellation ends the program.
   */
  record: new RequestType<RecordParams, Recorded, void>('record/start'),
  /** Returns the token boundaries of a stored message; needs no model, only the run's tokenizer. */
  contextTokens: new RequestType<ContextTokensParams, ContextTokens, void>('context/tokens'),
  /** Reads the headers of a folder's files; refused with one sentence if the model could not be loaded. */
  inspectModel: new RequestType<InspectModelParams, ModelFacts, void>('model/inspect'),
  /** Plans a run without loading or storing. A plan that does not fit is an answer, not an error. */
  plan: new RequestType<PlanParams, RunPlan, void>('run/plan'),
  /** Returns all steps at the end, including failed ones; honors cancellation. */
  testModel: new RequestType<TestModelParams, readonly SelfTestStep[], void>('model/test'),
  /** Reports the capabilities of the machine. */
  doctor: new RequestType0<DoctorReport, void>('doctor'),
} as const;

export type RequestName = keyof typeof REQUESTS;
/** The parameters, result and error types of a request; one without parameters has only the last two. */
type Parts<Name extends RequestName> = NonNullable<(typeof REQUESTS)[Name]['_']>;
/** The parameters of a request, or undefined if it has none. */
export type RequestParams<Name extends RequestName> =
  Parts<Name> extends [infer Params, unknown, unknown, unknown] ? Params : undefined;
export type RequestResult<Name extends RequestName> =
  Parts<Name> extends [unknown, infer Result, unknown, unknown] ? Result : Parts<Name>[0];

/** Notifications to all clients. */
export const JobsChangedNotification = new NotificationType<JobList>('runs/changed');
export const StoreWaitNotification = new NotificationType<StoreWait>('store/waiting');
export const LogNotification = new NotificationType<LogLine>('engine/log');
export const RunProgressNotification = new NotificationType<RunProgress>('run/progress');
/** Notifications to the client that asked. */
export const ReplayProgressNotification = new NotificationType<ReplayProgress>('replay/progress');
export const BlameProgressNotification = new NotificationType<BlameProgress>('blame/progress');
export const TrialProgressNotification = new NotificationType<TrialProgress>('trial/progress');
export const TestModelProgressNotification = new NotificationType<TestModelProgress>('model/test/progress');
export const RecordProgressNotification = new NotificationType<RecordProgress>('record/progress');
export const VerifyProgressNotification = new NotificationType<VerifyProgress>('verify/progress');

/** JSON-RPC error codes: the user cancelled, or a C3Error whose `data` is its FailureData. */
export const CANCELLED_CODE = -32800;
export const FAILED_CODE = -32001;
