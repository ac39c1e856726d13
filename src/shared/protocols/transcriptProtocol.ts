/**
 * Messages between the extension host and the transcript panel.
 *
 * A transcript is the tree of messages of one problem in one iteration. The host lays it out depth
 * first; row 0 is the question. Rows travel in windows of WINDOW. `descendants` lets the panel fold a
 * subtree that it has never loaded. With a filter, the layout holds the matching messages and their
 * ancestors. `revision` changes with the layout, and the panel then drops its rows.
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
import { holdingKeys, integer, list, literal, nullable, object, text, type Guarded } from '../guard.ts';
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
/** Characters of a message in a row. */
export const PREVIEW = 240;
/** Upper bounds of one replay request. */
export const MAX_ALTERNATIVES = 64;
export const MAX_REPLAYS = 64;

/** Identifies the transcript of a panel. */
export const isTranscriptTarget = object({
  run: text(200),
  phase: literal('train', 'evaluate', 'replay'),
  iteration: integer(),
  problem: text(2000),
});
export type TranscriptTarget = Guarded<typeof isTranscriptTarget>;

/** Returns true if two targets are the same transcript. */
export function sameTarget(a: TranscriptTarget, b: TranscriptTarget): boolean {
  return a.run === b.run && a.phase === b.phase && a.iteration === b.iteration && a.problem === b.problem;
}

/** Most hits of a search that the panel receives, the first in the order of rows. */
export const MOST_HITS = 20_000;
/** Longest search, in UTF-16 units. */
export const QUERY_LIMIT = 500;

/** The key of a row: the id of its message, or the negated id for the lane of the message's replays. */
const isRowKey = integer(-Number.MAX_SAFE_INTEGER);

/** Returns the key of the lane with the replays of a message. */
export function toLaneKey(message: number): number {
  return -message;
}

/** The filter of a transcript; null leaves a property open. */
export const isTranscriptFilter = object({
  role: nullable(text(200)),
  credit: nullable(literal('positive', 'negative', 'zero', 'none')),
  /** won, lost, lost with more than the least return (`between`), or without a return (`none`). */
  outcome: nullable(literal('won', 'lost', 'between', 'none')),
  /** `label:NAME` for a label of the user's, `class:NAME` for a class of the failure taxonomy. */
  label: nullable(text(1000)),
  /** Only messages that the run itself sampled, or only those that replay requests sampled. */
  lane: nullable(literal('run', 'replays')),
});
export type TranscriptFilter = Guarded<typeof isTranscriptFilter>;

/** Passes every message. */
export const NO_FILTER: TranscriptFilter = { role: null, credit: null, outcome: null, label: null, lane: null };

/** Two messages whose branches are compared. */
const isPair = object({ left: integer(), right: integer() });

/** The first visible row: its key, null for the question, and the pixels of it scrolled away. */
const isTop = object({ message: nullable(isRowKey), offset: integer() });
export type TranscriptTop = Guarded<typeof isTop>;

/** The state that a panel keeps across a reload: its view, its arrangement and drafts, but no data. */
export const isTranscriptState = object({
  version: literal(5),
  target: isTranscriptTarget,
  selected: nullable(integer()),
  collapsed: list(isRowKey),
  /** Lanes of replays that the user opened; they are folded by default. */
  opened: list(isRowKey),
  filter: isTranscriptFilter,
  query: text(QUERY_LIMIT),
  /** True if messages are shown exactly as written. */
  asWritten: literal(true, false),
  /** True if a message's keys and hashes are open; `whyOpen` is for the reason of a loss. */
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

/** The results of replay requests about a message, or in a whole transcript. */
export interface Replays {
  readonly requests: number;
  /** Continuations to the end of the episode. */
  readonly replays: number;
}

export interface TranscriptRow {
  readonly index: number;
  /** 0 for the question. */
  readonly depth: number;
  /** Index of its parent row in the tree; null for the question. */
  readonly parent: number | null;
  /** Number of rows in its subtree, which follow it directly. */
  readonly descendants: number;
  /** Null for the question. For a lane, the message whose replays it holds. */
  readonly message: number | null;
  /** The key of the row; null for the question. */
  readonly key: number | null;
  /** The content of a lane of replays; null for a message and the question. */
  readonly lane: Replays | null;
  readonly role: string;
  readonly turn: number;
  /** Number of the rollouts between two updates of a training step; absent for all others. */
  readonly stage?: number;
  /** One-based position and number of alternatives under the same parent. Replays are counted separately. */
  readonly position: number;
  readonly siblings: number;
  /** The first PREVIEW characters. */
  readonly text: string;
  readonly finish: FinishReason | null;
  readonly return: number | null;
  readonly leaves: number;
  /** Present if the user gave the return, or part of the returns that it is the mean of. */
  readonly byHand?: true;
  readonly credit: Headline | null;
  /**
   * The credit that training learned from, if nothing else was sampled in its context or it is a voter
   * that was not replayed beside others; absent for all other messages.
   */
  readonly learned?: Credit;
  /** True if a replay request sampled it, so that it is not part of the run itself. */
  readonly branch: boolean;
  /** False for a row that a filter kept only because of its descendants. */
  readonly match: boolean;
}

/** A row with its marks. */
export interface MarkedRow extends TranscriptRow {
  /** The outcome of its episodes by their mean return; null if none was scored. */
  readonly outcome: Outcome | null;
  /** Events that environments added beside it; null if there are none. */
  readonly events: ShownEvents | null;
  /** Its part in the vote that ended its episode; absent without a vote or with several episodes. */
  readonly vote?: ShownVoter;
  /** The verification of its replays: for every branch, and for verified messages of the run. */
  readonly verification: VerificationMark | null;
  /**
   * Description of its continuation, if the distribution differs from that of the message asked about;
   * otherwise null.
   */
  readonly other: string | null;
}

/** The place of a row in the layout. */
export interface RowPlace {
  /** The row's key. */
  readonly message: number;
  readonly index: number;
  readonly descendants: number;
  /** Indices of its ancestor rows, from the question down. */
  readonly ancestors: readonly number[];
}

export interface TranscriptHeader {
  readonly title: string;
  readonly subtitle: string;
  readonly question: string;
  readonly answer: string;
  readonly source: string;
  /** The speakers, their order, and what each sees; null if the run does not record it. */
  readonly protocol: ProtocolGraph | null;
  /** Measurements of all its messages. */
  readonly measured: readonly MeasuredFact[];
}

/** The choices for filters of a transcript. */
export interface FilterChoices {
  readonly roles: readonly string[];
  /** Names of the user's labels in this run. */
  readonly labels: readonly string[];
}

/** The matches of a search. */
export interface SearchHits {
  readonly query: string;
  /** Indices of rows, ascending; at most MOST_HITS. */
  readonly rows: readonly number[];
  /** Hits in the rows of the layout. */
  readonly total: number;
  /** Hits in this transcript that the filter hides. */
  readonly hidden: number;
  /** Hits in other transcripts of the run; null if there were too many to count. */
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
  /** The replays it may spend and spent, if it settles the message's credit; otherwise null. */
  readonly settle: { readonly most: number; readonly spent: number | null } | null;
}

/** A bucket with the sharing of random numbers in it; null if there are no continuations to compare. */
export interface DrawnBucket extends BucketView {
  readonly draws: Draws | null;
}

export interface MessageDetail {
  readonly message: Message;
  /** The scale of its run's returns; null if its evaluator is unknown. */
  readonly scale: ReturnScale | null;
  /** True if the evaluator runs the message as code. */
  readonly code: boolean;
  /** The policy that answered instead of the run's model; null for the model. */
  readonly policy: PolicyKind | null;
  /** One sentence on the reliability of the model judge that scored its run, or null if there is none. */
  readonly judge: string | null;
  /** The user's note on its episode; null if there is none, and for a message of several episodes. */
  readonly noted: StoredEpisodeNote | null;
  /** Measurements of the call. For a call that another program recorded, missing ones are listed too. */
  readonly measured: readonly MeasuredFact[];
  /** Events that environments added before it, and after it if it ends its episode. */
  readonly events: ShownEvents;
  /** The vote that ended its episode; null if there is none, and for a message of several episodes. */
  readonly vote: ShownVote | null;
  /** Its round, from 1; null if the protocol has none. */
  readonly round: number | null;
  /** The exact model input that this message answered; null if it is not stored. */
  readonly context: string | null;
  /** The random stream that it drew from; `tokenHash` is the hash of its tokens. */
  readonly streamKey: string;
  readonly tokenHash: string;
  /** Buckets that hold the message or were requested from it: the run's first, then newest first. */
  readonly buckets: readonly DrawnBucket[];
  /** Estimates of the message's credit under its own continuation distribution. */
  readonly estimates: readonly MessageEstimate[];
  /** The recorded continuation of its replays; `snapshots` are alternatives from the run. */
  readonly own: OwnContinuation;
  readonly snapshots: readonly OfferedSnapshot[];
  /** The result of the tool that a recorded message called: another one can be tried. */
  readonly result?: { readonly source: string; readonly text: string };
}

export interface ReplayDefaults {
  readonly alternatives: number;
  readonly replays: number;
  /** The reason why replays cannot be requested here, or null if they can. */
  readonly unavailable: string | null;
}

export interface TranscriptLayout {
  readonly revision: number;
  /** Number of all rows, including the question. */
  readonly rows: number;
  /** Number of messages that the run sampled; `matching` counts those that match the filter. */
  readonly messages: number;
  readonly matching: number;
  /** The results of replay requests, their sampled messages, and those of them that match the filter. */
  readonly replayed: Replays & { readonly messages: number; readonly matching: number };
  /** The lanes of replays, which are folded unless the user opened them. */
  readonly lanes: readonly RowPlace[];
  /** Places of the messages that the panel named and that are in the layout. */
  readonly places: readonly RowPlace[];
  /** For named messages that the filter hides: the nearest remaining row before them. */
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
      /** The current filter. */
      readonly filter: TranscriptFilter;
      readonly choices: FilterChoices;
      /** The message that was marked for a comparison. */
      readonly marked: number | null;
    }
  | { readonly type: 'marked'; readonly message: number | null }
  | { readonly type: 'comparison'; readonly comparison: Comparison }
  /** The transcript grew: the panel answers with another `ready`. */
  | { readonly type: 'changed' }
  | { readonly type: 'reveal'; readonly place: RowPlace }
  | { readonly type: 'replay'; readonly state: ReplayState }
  /** The editor shows the panel on request: the tree takes the keyboard focus. */
  | { readonly type: 'focus' }
  | ReplyMessage
  | { readonly type: 'failed'; readonly message: string };

/** The requests of a page; null is the answer about a layout that is out of date. */
export const TRANSCRIPT_REQUESTS = {
  /** A window of rows. */
  rows: {
    asked: object({ revision: integer(), offset: integer() }),
    answer: nullable(list(holdingKeys<MarkedRow>({ key: true, depth: true, descendants: true }), WINDOW)),
  },
  detail: {
    asked: object({ message: integer() }),
    answer: holdingKeys<MessageDetail>({ message: true, buckets: true, estimates: true, own: true, snapshots: true }),
  },
  /** The reason why the episode of a message was lost, or null if it was not. */
  why: {
    asked: object({ message: integer() }),
    answer: nullable(holdingKeys<WhyLost>({ leaf: true, decided: true, decisive: true, best: true })),
  },
  search: {
    asked: object({ revision: integer(), query: text(QUERY_LIMIT) }),
    answer: nullable(holdingKeys<SearchHits>({ query: true, rows: true, total: true })),
  },
  /** The folder of another model, or null if the user cancelled the question. */
  chooseModel: { asked: object({}), answer: nullable(text()) },
} as const satisfies Requests;

/** The events that the page sends. */
const TRANSCRIPT_EVENTS = {
  // `others`: further messages whose places the panel needs, to keep its scroll position.
  ready: {
    selected: nullable(integer()),
    collapsed: list(isRowKey),
    others: list(isRowKey, 8),
    filter: isTranscriptFilter,
  },
  // Another filter, with the fields of `ready`.
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
  // Continues a message that was recorded elsewhere with another result of the tool that it called.
  replayResult: { message: integer(), replays: integer(1, MAX_REPLAYS), result: text(MAX_EVENT_TEXT) },
  // Re-executes the replays that a message represents.
  verify: { message: integer() },
  exportReport: { message: integer() },
  copyLink: { message: integer() },
  cancelReplay: {},
  // Replays a message until its credit is decided or the replays are spent.
  settle: { message: integer(), replays: integer(SETTLE_LIMITS.least, SETTLE_LIMITS.most) },
  // Settles the credit of every message in the episode of a message, and selects the lowest.
  findLost: { message: integer() },
  // Requests the place of a row, to scroll to it.
  locateRow: { revision: integer(), index: integer() },
  // Selects the lowest-credit message, or the clearest candidate.
  goToCostliest: {},
  // Marks a message for a comparison, or compares the marked one with it.
  compare: { message: integer() },
  comparePair: { left: integer(), right: integer() },
  endComparison: {},
  // Opens the last requested comparison in the diff editor, even if it is not drawn yet.
  openDiff: {},
  // Shows the context of a message with its token boundaries.
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
