/**
 * Messages between the extension host and the transcript panel.
 *
 * A transcript is the tree of messages of one problem in one iteration. The host lays it out depth first; row 0 is the
 * question. Rows travel in windows of WINDOW; `descendants` lets the panel fold a subtree that it has never loaded.
 * Under a filter the layout holds the messages that match, with those above them. `revision` changes whenever the
 * layout does, and the panel then drops the rows that it holds.
 */
import type { MessageEstimate } from '../../domain/credit.ts';
import { MAX_EVENT_TEXT } from '../../domain/episode.ts';
import type { StoredEpisodeNote } from '../../domain/episodeNote.ts';
import type { FinishReason, Message, MeasuredFact } from '../../domain/message.ts';
import {
  isContinuationChoice,
  SETTLE_LIMITS,
  type OfferedSnapshot,
  type OwnContinuation,
  type Draws,
  type BucketView,
} from '../../domain/replay.ts';
import type { VerificationMark } from '../../domain/verification.ts';
import type { Credit } from '../credit/credit.ts';
import type { Headline } from '../credit/headline.ts';
import type { Outcome, ReturnScale } from '../credit/returns.ts';
import { holding, integer, list, literal, nullable, object, text, type Guarded } from '../guard.ts';
import type { PolicyKind } from '../rolePolicies.ts';
import type { Comparison } from '../transcript/comparison.ts';
import type { ProtocolGraph } from '../transcript/protocolGraph.ts';
import type { ShownEvents } from '../transcript/shownEvents.ts';
import type { ShownVote, ShownVoter } from '../transcript/shownVote.ts';
import type { WhyLost } from '../transcript/whyLost.ts';
import type { Events, Panel, ToHost } from './panel.ts';
import { isReplayDraft, MOST_DRAFTS } from './replayDraft.ts';
import type { ReplyMessage, Requests } from './requests.ts';

/** Rows in one window. */
export const WINDOW = 200;
/** Characters of a message that a row carries. */
export const PREVIEW = 240;
/** Upper bounds of what one replay request may ask for. */
export const MAX_ALTERNATIVES = 64;
export const MAX_REPLAYS = 64;

/** Which transcript a panel shows. */
export const isTranscriptTarget = object({
  run: text(200),
  phase: literal('train', 'evaluate', 'replay'),
  iteration: integer(),
  problem: text(2000),
});
export type TranscriptTarget = Guarded<typeof isTranscriptTarget>;

/** Whether two targets are the same transcript. */
export function sameTarget(a: TranscriptTarget, b: TranscriptTarget): boolean {
  return a.run === b.run && a.phase === b.phase && a.iteration === b.iteration && a.problem === b.problem;
}

/** Hits of a search that the panel receives, the first in the order of rows. */
export const MOST_HITS = 20_000;
/** Longest search. */
export const QUERY_LIMIT = 500;

/** What names a row: the id of its message, or that id negated for the lane of the message's replays. */
const isRowKey = integer(-Number.MAX_SAFE_INTEGER);

/** The key of the lane that holds the replays of a message. */
export function laneOf(message: number): number {
  return -message;
}

/** Which messages a transcript is filtered for; null leaves a property open. */
export const isTranscriptFilter = object({
  role: nullable(text(200)),
  credit: nullable(literal('positive', 'negative', 'zero', 'none')),
  /** Won; lost; lost with more than the least return; or without a return. */
  outcome: nullable(literal('won', 'lost', 'between', 'none')),
  /** `label:NAME` for a label of the user's, `class:NAME` for a class of the failure taxonomy. */
  label: nullable(text(1000)),
  /** Only what the run sampled itself, or only what replay requests sampled. */
  lane: nullable(literal('run', 'replays')),
});
export type TranscriptFilter = Guarded<typeof isTranscriptFilter>;

/** Every message. */
export const NO_FILTER: TranscriptFilter = { role: null, credit: null, outcome: null, label: null, lane: null };

/** Two messages whose branches are compared. */
const isPair = object({ left: integer(), right: integer() });

/** The first row in sight: its key, null for the question, and the pixels of it that are scrolled away. */
const isTop = object({ message: nullable(isRowKey), offset: integer() });
export type TranscriptTop = Guarded<typeof isTop>;

/** What a panel keeps across a reload: what is looked at, how it is arranged and what is begun, never data. */
export const isTranscriptState = object({
  version: literal(5),
  target: isTranscriptTarget,
  selected: nullable(integer()),
  collapsed: list(isRowKey),
  /** Lanes of replays that were opened: they are folded otherwise. */
  opened: list(isRowKey),
  filter: isTranscriptFilter,
  query: text(QUERY_LIMIT),
  /** Whether messages are shown to the letter. */
  asWritten: literal(true, false),
  /** Whether the keys and hashes of a message, and why an episode was lost, are open. */
  keysOpen: literal(true, false),
  whyOpen: literal(true, false),
  compared: nullable(isPair),
  /** Null while nothing has been drawn. */
  top: nullable(isTop),
  /** Oldest first. */
  drafts: list(isReplayDraft, MOST_DRAFTS),
  /** Pixels of the pane that are scrolled away. */
  scroll: integer(),
});

/** What replay requests about a message, or about all of a transcript, made. */
export interface Replays {
  readonly requests: number;
  /** Continuations to the end of the episode. */
  readonly replays: number;
}

export interface TranscriptRow {
  readonly index: number;
  /** 0 for the question. */
  readonly depth: number;
  /** Index of the row above it in the tree; null for the question. */
  readonly parent: number | null;
  /** Rows below this one in its subtree; they follow it directly. */
  readonly descendants: number;
  /** Null for the question; a lane has that of the message whose replays it holds. */
  readonly message: number | null;
  /** What names the row; null for the question. */
  readonly key: number | null;
  /** What a lane of replays holds; null for a message and the question. */
  readonly lane: Replays | null;
  readonly role: string;
  readonly turn: number;
  /** Of rollouts between two updates of a training step; left out for all others. */
  readonly stage?: number;
  /** One-based position and number of alternatives under the same parent; replays count among replays only. */
  readonly position: number;
  readonly siblings: number;
  /** The first PREVIEW characters. */
  readonly text: string;
  readonly finish: FinishReason | null;
  readonly return: number | null;
  readonly leaves: number;
  /** Where the user gave the return, or some of those that it is the mean of. */
  readonly byHand?: true;
  readonly credit: Headline | null;
  /**
   * What training learned from it, where nothing else was sampled in its context or it is a voter beside others that
   * was not replayed; left out for all others.
   */
  readonly learned?: Credit;
  /** True when a replay request sampled it, so that it is no part of the run itself. */
  readonly branch: boolean;
  /** False for a row that a filter left only because of what is below it. */
  readonly match: boolean;
}

/** A row with the mark that it has. */
export interface MarkedRow extends TranscriptRow {
  /** How its episodes ended by their mean return; null where none was scored. */
  readonly outcome: Outcome | null;
  /** What environments added beside it; null where they added nothing. */
  readonly events: ShownEvents | null;
  /** What it did to the vote that ended its episode; left out where none did, and for a message of several episodes. */
  readonly vote?: ShownVoter;
  /** What re-executing its replays showed; on every branch, and on a message of the run once it was verified. */
  readonly verification: VerificationMark | null;
  /** What continued it, in words, where that is another distribution than that of the message asked about. */
  readonly other: string | null;
}

/** Where a row is in the layout. */
export interface RowPlace {
  /** The row's key. */
  readonly message: number;
  readonly index: number;
  readonly descendants: number;
  /** Indexes of the rows above it, from the question down. */
  readonly ancestors: readonly number[];
}

export interface TranscriptHeader {
  readonly title: string;
  readonly subtitle: string;
  readonly question: string;
  readonly answer: string;
  readonly source: string;
  /** Who speaks when and sees what; null where the run does not say. */
  readonly protocol: ProtocolGraph | null;
  /** What was measured of all its messages. */
  readonly measured: readonly MeasuredFact[];
}

/** What a transcript can be filtered for. */
export interface FilterChoices {
  readonly roles: readonly string[];
  /** Names of the user's labels in this run. */
  readonly labels: readonly string[];
}

/** Where the words of a search are. */
export interface SearchHits {
  readonly query: string;
  /** Rows, ascending; at most MOST_HITS. */
  readonly rows: readonly number[];
  /** Hits in the rows of the layout. */
  readonly total: number;
  /** Hits in this transcript that the filter hides. */
  readonly hidden: number;
  /** Hits in other transcripts of the run; null where there were too many to count. */
  readonly elsewhere: number | null;
}

/** The replay in progress, or the last one, in this panel. */
export interface ReplayState {
  readonly message: number;
  readonly status: 'running' | 'done' | 'cancelled' | 'failed';
  readonly bucket: BucketView | null;
  readonly done: number;
  readonly total: number;
  readonly error: string | null;
  /** What it may spend, and spent, where it is to settle the message's credit; null for any other. */
  readonly settle: { readonly most: number; readonly spent: number | null } | null;
}

/** A bucket with how the continuations in it drew their random numbers; null where there are none to compare. */
export interface DrawnBucket extends BucketView {
  readonly draws: Draws | null;
}

export interface MessageDetail {
  readonly message: Message;
  /** What the returns of its run mean; null where its evaluator is not known. */
  readonly scale: ReturnScale | null;
  /** Whether the message is what the evaluator runs as code. */
  readonly code: boolean;
  /** What answered in place of the run's model; null where the model did. */
  readonly policy: PolicyKind | null;
  /** How far the model judge that scored its run is to be believed, in one sentence; null where none scored. */
  readonly judge: string | null;
  /** What the user says of its episode; null where nothing, and for a message of several episodes. */
  readonly noted: StoredEpisodeNote | null;
  /** What was measured of the call; of one that another program recorded, what was not too. */
  readonly measured: readonly MeasuredFact[];
  /** What environments added before it, and after it where it ends its episode. */
  readonly events: ShownEvents;
  /** The vote that ended its episode; null where none did, and for a message of several episodes. */
  readonly vote: ShownVote | null;
  /** Its round, from 1; null where the protocol has none. */
  readonly round: number | null;
  /** The exact model input that this message answered; null when it is not stored. */
  readonly context: string | null;
  /** The random stream that it drew from, and the hash of its tokens. */
  readonly streamKey: string;
  readonly tokenHash: string;
  /** Buckets that hold the message or that were asked for from it: the run's own first, then requests, newest first. */
  readonly buckets: readonly DrawnBucket[];
  /** What the message was worth under its own continuation distribution. */
  readonly estimates: readonly MessageEstimate[];
  /**
   * What its replays are continued with as recorded, and the snapshots of the run that they can be continued with
   * instead.
   */
  readonly own: OwnContinuation;
  readonly snapshots: readonly OfferedSnapshot[];
  /** What the tool gave that the message called, where it was recorded elsewhere: another result can be tried. */
  readonly result?: { readonly source: string; readonly text: string };
}

export interface ReplayDefaults {
  readonly alternatives: number;
  readonly replays: number;
  /** Why replays cannot be asked for here; null when they can. */
  readonly unavailable: string | null;
}

export interface TranscriptLayout {
  readonly revision: number;
  /** Rows in all, the question included. */
  readonly rows: number;
  /** Messages that the run sampled, and those of them that match the filter. */
  readonly messages: number;
  readonly matching: number;
  /** What replay requests made, the messages that they sampled, and those of them that match the filter. */
  readonly replayed: Replays & { readonly messages: number; readonly matching: number };
  /** The lanes of replays that are folded unless the user opened them. */
  readonly lanes: readonly RowPlace[];
  /** Places of the messages that the panel named and that are in the layout. */
  readonly places: readonly RowPlace[];
  /** For those named that the filter hides: the nearest row before them that is left. */
  readonly near: readonly { readonly message: number; readonly index: number }[];
}

export type TranscriptFromHost =
  | {
      readonly type: 'opened';
      readonly target: TranscriptTarget;
      readonly header: TranscriptHeader;
      readonly layout: TranscriptLayout;
      readonly selected: number | null;
      readonly defaults: ReplayDefaults;
      readonly replay: ReplayState | null;
      /** The filter in force. */
      readonly filter: TranscriptFilter;
      readonly choices: FilterChoices;
      /** The message that waits to be compared with another. */
      readonly marked: number | null;
    }
  | { readonly type: 'marked'; readonly message: number | null }
  | { readonly type: 'comparison'; readonly comparison: Comparison }
  /** The transcript grew: the panel answers with another `ready`. */
  | { readonly type: 'changed' }
  | { readonly type: 'reveal'; readonly place: RowPlace }
  | { readonly type: 'replay'; readonly state: ReplayState }
  /** The editor shows the panel to whoever asked for it: the tree takes the keyboard. */
  | { readonly type: 'focus' }
  | ReplyMessage
  | { readonly type: 'failed'; readonly message: string };

/** What a page asks and waits for; null is the answer about a layout that is out of date. */
export const TRANSCRIPT_REQUESTS = {
  /** A window of rows. */
  rows: {
    asked: object({ revision: integer(), offset: integer() }),
    answer: nullable(list(holding<MarkedRow>({ key: true, depth: true, descendants: true }), WINDOW)),
  },
  detail: {
    asked: object({ message: integer() }),
    answer: holding<MessageDetail>({ message: true, buckets: true, estimates: true, own: true, snapshots: true }),
  },
  /** Why the episode of a message was lost; null where it was not. */
  why: {
    asked: object({ message: integer() }),
    answer: nullable(holding<WhyLost>({ leaf: true, decided: true, decisive: true, best: true })),
  },
  search: {
    asked: object({ revision: integer(), query: text(QUERY_LIMIT) }),
    answer: nullable(holding<SearchHits>({ query: true, rows: true, total: true })),
  },
  /** The folder of another model; null where the question was left. */
  chooseModel: { asked: object({}), answer: nullable(text()) },
} as const satisfies Requests;

/** What the page sends. */
const TRANSCRIPT_EVENTS = {
  // `others`: messages whose places the panel needs besides, to keep what is read where it is.
  ready: {
    selected: nullable(integer()),
    collapsed: list(isRowKey),
    others: list(isRowKey, 8),
    filter: isTranscriptFilter,
  },
  // Another filter, with what `ready` says.
  filter: { filter: isTranscriptFilter, collapsed: list(isRowKey), others: list(isRowKey, 8) },
  locate: { message: integer() },
  selected: { message: nullable(integer()) },
  replay: {
    message: integer(),
    alternatives: integer(0, MAX_ALTERNATIVES),
    replays: integer(1, MAX_REPLAYS),
    text: nullable(text()),
    independent: literal(true, false),
    continuation: isContinuationChoice,
  },
  // Continue a message that was recorded elsewhere with another result of the tool that it called.
  replayResult: { message: integer(), replays: integer(1, MAX_REPLAYS), result: text(MAX_EVENT_TEXT) },
  // Re-execute the replays that a message represents.
  verify: { message: integer() },
  exportReport: { message: integer() },
  copyLink: { message: integer() },
  cancelReplay: {},
  // Replay a message until its credit is decided or the replays are spent.
  settle: { message: integer(), replays: integer(SETTLE_LIMITS.least, SETTLE_LIMITS.most) },
  // Settle the credit of every message of the episode that a message is of, and select the lowest.
  findLost: { message: integer() },
  // Where a row is, to bring it into sight.
  locateRow: { revision: integer(), index: integer() },
  // Select the lowest-credit message, or the clearest candidate.
  goToCostliest: {},
  // Mark a message to be compared, or compare the marked one with it.
  compare: { message: integer() },
  comparePair: { left: integer(), right: integer() },
  endComparison: {},
  // The comparison that was asked for last, which may not be drawn yet, in the diff editor.
  openDiff: {},
  // The context of a message with its token boundaries.
  showContext: { message: integer() },
} as const satisfies Events;

export const TRANSCRIPT_PANEL = {
  view: 'c3.transcript',
  title: 'Transcript',
  bundle: 'transcript',
  icon: 'tab',
  events: TRANSCRIPT_EVENTS,
  requests: TRANSCRIPT_REQUESTS,
} as const satisfies Panel;

export type TranscriptToHost = ToHost<typeof TRANSCRIPT_PANEL>;
