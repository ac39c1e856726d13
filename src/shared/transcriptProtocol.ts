/**
 * Messages between the extension host and the transcript panel.
 *
 * A transcript is the tree of messages of one instance in one iteration. The host lays it out depth first; row 0 is the
 * question. Rows travel in windows of WINDOW; `descendants` lets the panel fold a subtree that it has never loaded.
 * `revision` changes whenever the layout does, and the panel then drops the rows that it holds.
 */
import { anyOf, integer, list, literal, nullable, object, text, type Guarded } from './guard.ts';
import type { Draws } from './draws.ts';
import type { BucketView, Credit, FinishReason, Message, VerificationMark } from './records.ts';

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
  instance: text(2000),
});
export type TranscriptTarget = Guarded<typeof isTranscriptTarget>;

/** What a panel keeps across a reload: what is looked at and how it is arranged, never data. */
export const isTranscriptState = object({
  version: literal(1),
  target: isTranscriptTarget,
  selected: nullable(integer()),
  collapsed: list(integer()),
});
export type TranscriptState = Guarded<typeof isTranscriptState>;

export interface TranscriptRow {
  readonly index: number;
  /** 0 for the question. */
  readonly depth: number;
  /** Rows below this one in its subtree; they follow it directly. */
  readonly descendants: number;
  /** Null for the question. */
  readonly message: number | null;
  readonly role: string;
  readonly turn: number;
  /** One-based position and number of alternatives under the same parent. */
  readonly position: number;
  readonly siblings: number;
  /** The first PREVIEW characters. */
  readonly text: string;
  readonly finish: FinishReason | null;
  readonly return: number | null;
  readonly leaves: number;
  readonly credit: Credit | null;
  /** True when a replay request sampled it, so that it is no part of the run itself. */
  readonly branch: boolean;
}

/** A row with the mark that it wears. */
export interface MarkedRow extends TranscriptRow {
  /** What re-executing its replays showed; on every branch, and on a message of the run once it was verified. */
  readonly verification: VerificationMark | null;
}

/** Where a message stands in the layout. */
export interface RowPlace {
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
}

/** The replay that goes on, or went on last, in this panel. */
export interface ReplayState {
  readonly message: number;
  readonly status: 'running' | 'done' | 'cancelled' | 'failed';
  readonly bucket: BucketView | null;
  readonly done: number;
  readonly total: number;
  readonly error: string | null;
}

/** A bucket with how the continuations in it drew their random numbers; null where there are none to compare. */
export interface DrawnBucket extends BucketView {
  readonly draws: Draws | null;
}

export interface MessageDetail {
  readonly message: Message;
  /** The exact model input that this message answered; null when it is not stored. */
  readonly context: string | null;
  /** Buckets that hold the message or that were asked for from it: the run's own first, then requests, newest first. */
  readonly buckets: readonly DrawnBucket[];
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
  /** Places of the messages that the panel named and that still exist. */
  readonly places: readonly RowPlace[];
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
    }
  /** The transcript grew: the panel answers with another `ready`. */
  | { readonly type: 'changed' }
  | { readonly type: 'rows'; readonly revision: number; readonly offset: number; readonly rows: readonly MarkedRow[] }
  | { readonly type: 'detail'; readonly id: number; readonly detail: MessageDetail }
  | { readonly type: 'reveal'; readonly place: RowPlace }
  | { readonly type: 'replay'; readonly state: ReplayState }
  | { readonly type: 'failed'; readonly message: string };

export const isTranscriptToHost = anyOf(
  // `others`: messages whose places the panel needs besides, to keep what is read where it is.
  object({ type: literal('ready'), selected: nullable(integer()), collapsed: list(integer()), others: list(integer(), 8) }),
  object({ type: literal('locate'), message: integer() }),
  object({ type: literal('rows'), revision: integer(), offset: integer() }),
  object({ type: literal('detail'), id: integer(), message: integer() }),
  object({ type: literal('selected'), message: nullable(integer()) }),
  object({
    type: literal('replay'),
    message: integer(),
    alternatives: integer(0, MAX_ALTERNATIVES),
    replays: integer(1, MAX_REPLAYS),
    text: nullable(text()),
    independent: literal(true, false),
  }),
  // Re-execute the replays that a message stands for.
  object({ type: literal('verify'), message: integer() }),
  object({ type: literal('exportReport', 'copyLink'), message: integer() }),
  object({ type: literal('cancelReplay') }),
);
export type TranscriptToHost = Guarded<typeof isTranscriptToHost>;
