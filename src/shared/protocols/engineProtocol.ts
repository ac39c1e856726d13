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
  /** What the engine logged last, one line each. */
  readonly log: readonly string[];
  readonly list: JobList;
}

export interface YieldResult {
  /** Whether the engine ends now, because nothing is in progress in it. */
  readonly ending: boolean;
}

export interface StartRunParams {
  /** Absolute path of a *.c3.yaml, or null for the bundled team's defaults. */
  readonly config: string | null;
  /** `key.path=value`, as on the command line. */
  readonly overrides: readonly string[];
  /** What paths are relative to that no configuration file names; the workspace unless given. */
  readonly folder?: string;
}

/** What is done where a policy of a trained team is replaced: after stage 0, directly, or with none of the training. */
export type ReplaceStrategy = 'align' | 'direct' | 'retrain';

export interface ReplaceParams {
  /** The run whose team it is. */
  readonly run: string;
  readonly role: string;
  /**
   * What takes the place: `base`, `bundled-small`, the folder of an adapter or of a model, or RUN, RUN:STEP or
   * RUN:STEP:ROLE.
   */
  readonly source: string;
  readonly strategy: ReplaceStrategy;
  /** `key.path=value`, changes of the run that begins so. */
  readonly overrides: readonly string[];
  /** What a path is relative to. */
  readonly folder: string;
}

/** A job by its id, or the run that it is about. */
export interface JobParams {
  readonly job: string;
}

export interface CancelResult {
  /**
   * What was cancelled: the run that went on, one that waited for its turn, one that another process runs, one that had
   * never begun; null where there was none.
   */
  readonly cancelled: 'running' | 'queued' | 'elsewhere' | 'unstarted' | null;
}

export interface StoreWait {
  /** For whom the engine waits to write the store, in words; null when the wait is over. */
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
  /** Continuations of each alternative; a terminal role is scored once whatever this says. */
  readonly replays: number;
  /** A typed alternative, beside the sampled ones. */
  readonly text: string | null;
  /** What the tool that a recorded message called gave instead; its alternative is beside the sampled ones. */
  readonly result?: string | null;
  /** True: no common random numbers; every alternative draws its own. */
  readonly independent?: boolean;
  /** Another snapshot, temperature or model for the alternatives and what continues them; as recorded unless given. */
  readonly continuation?: ContinuationChoice;
  /**
   * Paired replays until the credit is decided, in place of `alternatives` and `replays`; refused with a text or
   * independent numbers.
   */
  readonly settle?: Settle;
  /** The most that the run and its replays may spend at each server; what the configuration says unless given. */
  readonly spending?: SpendingChoice;
  /** Of a message that was recorded elsewhere: the file that says who answers and which program goes on. */
  readonly team?: string;
  /** SHA-256 of the team file's bytes that the user agreed to, in hexadecimal; a file with others is refused. */
  readonly teamHash?: string;
}

/** A replay that an assistant asks for. */
export interface ReplayAsked {
  readonly message: number;
  readonly alternatives?: number;
  readonly replays?: number;
  /** Words to try in the place of the message, beside what is sampled. */
  readonly text?: string;
  /** What the tool that the message called gave instead; of recorded messages only. */
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

/** What the user agrees to before an assistant's replay is made, and what is asked of the engine then. */
export interface AssistantReplay {
  readonly request: ReplayParams;
  /** What it costs at most and what it starts, as a sentence without its end. */
  readonly words: string;
}

export interface BlameParams extends Pick<ReplayParams, 'team' | 'teamHash' | 'spending'> {
  /** Any message of the episode; of several episodes through it, the one that returned least is meant. */
  readonly message: number;
  /** Evaluator calls that may be spent. */
  readonly budget: number;
}

/** A search for the message that lost an episode that an assistant asks for. */
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

/** What the user agrees to before an assistant's search is made, and what is asked of the engine then. */
export interface AssistantSearch {
  readonly request: BlameParams;
  /** What it costs at most and what it starts, as a sentence without its end. */
  readonly words: string;
}

export interface RunBlameParams extends Pick<ReplayParams, 'team' | 'teamHash' | 'spending'> {
  readonly run: string;
  /** Which of its lost episodes; all unless given. */
  readonly only?: Selection;
  /** Evaluator calls that may be spent. */
  readonly budget: number;
}

/** A search for what loses the episodes of a run that an assistant asks for. */
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

/** What the user agrees to before an assistant's search of a run is made, and what is asked of the engine then. */
export interface AssistantRunSearch {
  readonly request: RunBlameParams;
  /** What it costs at most and what it starts, as a sentence without its end. */
  readonly words: string;
}

export interface TrialParams {
  readonly run: string;
  readonly change: TeamChange;
  readonly problems: TrialProblems;
  /** Which of them; all unless given. */
  readonly only?: Selection;
  /** The message in whose context both sides begin, in the place of problems. */
  readonly message?: number;
  /** Evaluator calls of both sides together. */
  readonly budget: number;
  /** The most that the run and its replays may spend at each server; what the configuration says unless given. */
  readonly spending?: SpendingChoice;
}

export interface KeepFindingParams {
  readonly message: number;
  /** Absolute path of the file, or of the folder that it is written to under a name of its own. */
  readonly out: string;
  readonly draws: number;
  readonly expect: Expectation;
}

export interface CheckFindingParams {
  /** Absolute path. */
  readonly file: string;
  /** A model folder that draws in the place of the finding's own weights; null for these. */
  readonly model: string | null;
}

/** How far a search for what lost an episode, or loses those of a run, has come. */
export interface BlameProgress {
  readonly words: string;
}

/** How far a trial of a change has come. */
export interface TrialProgress {
  readonly words: string;
}

export interface OfferKeysParams {
  /** Keys of servers by the names of their variables (C3_KEY_HOST). They are kept in memory and nowhere else. */
  readonly keys: Readonly<Record<string, string>>;
}

export interface ReplayProgress {
  readonly message: number;
  readonly bucket: BucketView;
  /** Complete alternatives, of how many; while a credit is being settled, replays, of how many at most. */
  readonly done: number;
  readonly total: number;
}

export interface VerifyParams {
  /** The replays that this message represents are re-executed. */
  readonly message: number;
  /** Whether those that no seed gives again are sampled again, which costs as much as they did. */
  readonly again?: boolean;
}

export interface VerifyProgress {
  readonly message: number;
  /** Replays re-executed, of how many. */
  readonly done: number;
  readonly total: number;
}

export interface ContextTokensParams {
  readonly message: number;
}

export interface ProviderReport {
  readonly name: string;
  readonly available: boolean;
  /** What its self-test said, or why it is not available. */
  readonly selfTest: string | null;
  /** Whether a row's result depends on the rows beside it; null where that was not measured. */
  readonly batchInvariance: string | null;
  /** Name of the device behind it. */
  readonly device: string | null;
}

export interface DoctorReport {
  readonly providers: readonly ProviderReport[];
  readonly versions: Readonly<Record<string, string>>;
  /** What is wrong with the store, one sentence each, and how far it was examined; both empty where there is none. */
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

/** A run that is not started. */
export interface PlanParams extends StartRunParams {
  /** What the file of `config` holds in an editor, where that is not saved; the file need not be there then. */
  readonly text?: string;
}

export interface TestModelParams {
  /** Absolute path. */
  readonly folder: string;
  /** Where it computes; the CPU unless given. */
  readonly provider?: DeviceRequest;
}

export interface TestModelProgress {
  readonly folder: string;
  readonly progress: SelfTestProgress;
}

export interface ImportLogParams {
  /** Absolute path of the log. */
  readonly path: string;
  /** Whether texts that look like keys are masked before anything is stored. */
  readonly maskSecrets: boolean;
  /** Other names for speakers; none unless given. */
  readonly renames?: readonly Rename[];
}

export interface RecordParams {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Where it runs; absolute. */
  readonly folder: string;
  /** The server that answers its calls; null for the one that the environment names, or the usual one. */
  readonly upstream: string | null;
  /** The bundled team, or the folder, of a model that is served here and answers; null where a server does. */
  readonly serve: string | null;
  /** The environment of the program, which may hold its keys; the engine's own where it is left out. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether texts that look like keys are masked before anything is stored. */
  readonly maskSecrets: boolean;
  /** What is right for the question that the program asks; null where that is unknown or the program scores itself. */
  readonly right: RightAnswer | null;
}

/** Messages that are stored by now, or a line that the program printed. */
export type RecordProgress = { readonly messages: number } | { readonly line: string };

export const InitializeRequest = new RequestType<InitializeParams, InitializeResult, void>('initialize');
/** Asks an engine of another version to end where nothing is in progress in it. */
export const YieldRequest = new RequestType0<YieldResult, void>('engine/yield');
/** Gives the engine the keys that the user keeps in the editor, in the place of those that were given before. */
export const OfferKeysRequest = new RequestType<OfferKeysParams, null, void>('keys/offer');
/** Ends the engine: what is in progress is cancelled. */
export const ShutdownRequest = new RequestType0<null, void>('shutdown');

/**
 * What a client may ask: each is a method of `EngineClient` and has its handler in `EngineServer`. Those that take long
 * answer at the end of the work, honor JSON-RPC cancellation and report progress meanwhile.
 */
export const REQUESTS = {
  /**
   * This, `resumeRun` and `restartJob` answer with the job as soon as it is in the queue; what cannot be run is refused
   * before. Progress comes to all clients. The run continues whether or not the client stays.
   */
  startRun: new RequestType<StartRunParams, RunJob, void>('run/start'),
  /** Answers with the run that begins with a policy replaced; nothing is started. */
  replacement: new RequestType<ReplaceParams, StartRunParams, void>('run/replace'),
  /** Takes a run that is not done to its end: one that was cancelled, has failed, or was left behind by a crash. */
  resumeRun: new RequestType<RunParams, RunJob, void>('run/resume'),
  /** The runs that are asked for, wait, go on or have ended. */
  jobs: new RequestType0<JobList, void>('runs/status'),
  /** Cancels a run of this or another client. */
  cancelRun: new RequestType<JobParams, CancelResult, void>('runs/cancel'),
  /** Asks again for a job that had never begun. */
  restartJob: new RequestType<JobParams, RunJob, void>('runs/restart'),
  /** Replays one message; alternatives arrive as progress meanwhile. */
  replay: new RequestType<ReplayParams, ReplayResult, void>('replay/start'),
  /**
   * Finds which message lost an episode; what is known arrives as progress meanwhile, and what was sampled by a cancel
   * stays.
   */
  blame: new RequestType<BlameParams, Blame, void>('blame/start'),
  /** What such a search may ask of the servers of a recorded team at most; nothing is asked. */
  blameCosts: new RequestType<BlameParams, readonly EndpointCost[], void>('blame/costs'),
  /** What the user is asked before an assistant's search; nothing is started. */
  assistantSearch: new RequestType<AssistantSearchParams, AssistantSearch, void>('blame/assistant'),
  /** Finds what loses the episodes of a run, in the same way. */
  blameRun: new RequestType<RunBlameParams, RunBlame, void>('blame/run'),
  /** The same of an assistant's search of a run as of one of an episode. */
  assistantRunSearch: new RequestType<AssistantRunSearchParams, AssistantRunSearch, void>('blame/assistantRun'),
  /** What the searches so far found of the lost problems of a run; nothing is replayed. */
  lostProblems: new RequestType<RunParams, readonly LostProblemRow[], void>('blame/problems'),
  /** What such a trial may ask of servers at most; nothing is asked. */
  trialCosts: new RequestType<TrialParams, readonly EndpointCost[], void>('trial/costs'),
  /** Tries a change of a run's team on its held-out problems; nothing is stored. */
  tryChange: new RequestType<TrialParams, Trial, void>('trial/start'),
  /** Keeps a message as a test, in a file. */
  keepFinding: new RequestType<KeepFindingParams, KeptFinding, void>('finding/keep'),
  /** Draws a finding again; why it could not be is part of the answer. */
  checkFinding: new RequestType<CheckFindingParams, CheckedFinding, void>('finding/check'),
  /** What a replay may ask of servers at most; nothing is asked. */
  replayCosts: new RequestType<ReplayParams, readonly EndpointCost[], void>('replay/costs'),
  /** What the user is asked before an assistant's replay; nothing is started. */
  assistantReplay: new RequestType<AssistantReplayParams, AssistantReplay, void>('replay/assistant'),
  /** What verifying a message may ask of servers at most, where what no seed gives again is sampled again. */
  verifyCosts: new RequestType<{ readonly message: number }, readonly EndpointCost[], void>('verify/costs'),
  /** Re-executes the replays of one message. */
  verify: new RequestType<VerifyParams, VerificationReport, void>('verify/start'),
  /** The failure taxonomy of a run. */
  taxonomy: new RequestType<TaxonomyParams, TaxonomyView, void>('taxonomy'),
  /** Brings a store of an older version up to date. */
  updateStore: new RequestType0<null, void>('store/update'),
  /** Appends a label; waits while another process writes the store. */
  label: new RequestType<LabelParams, CaseLabel, void>('taxonomy/label'),
  /** Appends what the user calls a run and says of it. */
  noteRun: new RequestType<NoteRunParams, RunNote, void>('run/note'),
  /** Appends what the user says of an episode. */
  noteEpisode: new RequestType<NoteEpisodeParams, NotedEpisode, void>('episode/note'),
  /** Deletes a run with its files; answers with the bytes that are free now. */
  deleteRun: new RequestType<RunParams, number, void>('run/delete'),
  /** Stores what other programs recorded of their agents; a log that is stored already changes nothing. */
  importLog: new RequestType<ImportLogParams, LogImport, void>('log/import'),
  /**
   * Runs a user's own program and stores what its agents say; answers when it has ended, and ends it where it is
   * cancelled.
   */
  record: new RequestType<RecordParams, Recorded, void>('record/start'),
  /** Token boundaries of a stored message; needs no model, only the run's tokenizer. */
  contextTokens: new RequestType<ContextTokensParams, ContextTokens, void>('context/tokens'),
  /** Looks at the headers of a folder's files; refused with one sentence where the model could not be loaded. */
  inspectModel: new RequestType<InspectModelParams, ModelFacts, void>('model/inspect'),
  /** Nothing is loaded and nothing stored. A plan that does not fit is an answer, not an error. */
  plan: new RequestType<PlanParams, RunPlan, void>('run/plan'),
  /** Answers with all steps at the end, among them those that failed; honours cancellation. */
  testModel: new RequestType<TestModelParams, readonly SelfTestStep[], void>('model/test'),
  /** What the machine can do. */
  doctor: new RequestType0<DoctorReport, void>('doctor'),
} as const;

export type RequestName = keyof typeof REQUESTS;
/** The parameters, result and error types of a request; one without parameters has two of them. */
type Parts<Name extends RequestName> = NonNullable<(typeof REQUESTS)[Name]['_']>;
/** What a request is given; nothing where it needs nothing. */
export type ParamsOf<Name extends RequestName> =
  Parts<Name> extends [infer Params, unknown, unknown, unknown] ? Params : undefined;
export type ResultOf<Name extends RequestName> =
  Parts<Name> extends [unknown, infer Result, unknown, unknown] ? Result : Parts<Name>[0];

/** To all clients. */
export const JobsChangedNotification = new NotificationType<JobList>('runs/changed');
export const StoreWaitNotification = new NotificationType<StoreWait>('store/waiting');
export const LogNotification = new NotificationType<LogLine>('engine/log');
export const RunProgressNotification = new NotificationType<RunProgress>('run/progress');
/** To the client that asked. */
export const ReplayProgressNotification = new NotificationType<ReplayProgress>('replay/progress');
export const BlameProgressNotification = new NotificationType<BlameProgress>('blame/progress');
export const TrialProgressNotification = new NotificationType<TrialProgress>('trial/progress');
export const TestModelProgressNotification = new NotificationType<TestModelProgress>('model/test/progress');
export const RecordProgressNotification = new NotificationType<RecordProgress>('record/progress');
export const VerifyProgressNotification = new NotificationType<VerifyProgress>('verify/progress');

/** JSON-RPC error codes of the engine: the user cancelled, or a C3Error whose `data` are its FailureData. */
export const CANCELLED_CODE = -32800;
export const FAILED_CODE = -32001;
