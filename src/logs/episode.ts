/** What other programs recorded of their agents, in the form that all formats are read into. */

import type { SpeakerSource } from '../shared/records/logImport.ts';

/** A message of a chat as a model is asked with it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** Who said it, or which tool; null where the log does not say. */
  readonly name: string | null;
  /** Its text, with a line for each tool that it calls. */
  readonly text: string;
}

/** What a model said. */
export interface RecordedMessage {
  readonly kind: 'message';
  readonly speaker: string;
  /** All that it was asked with, in order. */
  readonly context: readonly ChatMessage[];
  readonly text: string;
  /** Null where the log does not say. */
  readonly model: string | null;
  /** Tokens as the log counts them; 0 where it does not. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly finish: 'end' | 'length';
}

/** What came from outside the models: a result of a tool, or a person's words. */
export interface RecordedEvent {
  readonly kind: 'event';
  /** The tool, or `user`. */
  readonly source: string;
  readonly text: string;
}

export interface RecordedEpisode {
  /** Of the log: a trace, a line. */
  readonly id: string;
  /** What the first message was asked. */
  readonly question: string;
  /** What is right; empty where the log does not say. */
  readonly answer: string;
  /** What the episode scored; null where the log does not say. */
  readonly return: number | null;
  readonly entries: readonly (RecordedMessage | RecordedEvent)[];
}

/** What was found in a log, and what was not taken. */
export interface RecordedLog {
  readonly format: string;
  readonly episodes: readonly RecordedEpisode[];
  /** By speaker. */
  readonly speakers: ReadonlyMap<string, SpeakerSource>;
  /** How many entries were left out, by the reason. */
  readonly leftOut: ReadonlyMap<string, number>;
}

/** Counts what is left out, by the reason. */
export class LeftOut {
  readonly reasons = new Map<string, number>();

  add(reason: string, count = 1): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + count);
  }
}
