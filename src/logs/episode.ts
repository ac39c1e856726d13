/** What other programs recorded of their agents, in the form that all formats are read into. */
import type { ChatMessage } from '../chat/messages.ts';
import type { SpeakerSource } from '../shared/records/logImport.ts';

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
  /** Read while they are asked for, once: an episode may be longer than memory. */
  readonly entries: Iterable<RecordedMessage | RecordedEvent>;
}

/** A log of one of the forms, read anew by each who asks for its episodes. */
export interface RecordedLog {
  readonly format: string;
  /** @throws C3Error('input') for an entry that is no JSON */
  readonly episodes: (survey: Survey) => Generator<RecordedEpisode>;
}

/** A team has at most so many roles, one of them for whoever comes later. */
const MOST_SPEAKERS = 64;
export const OTHERS = 'others';

/** How many entries were left out, by the reason. */
export type LeftOutCounts = readonly (readonly [string, number])[];

/** What is learned of a log while it is read. */
export class Survey {
  /** How many entries were left out, by the reason. */
  readonly leftOut = new Map<string, number>();
  /** In the order in which they first spoke. */
  readonly speakers = new Map<string, SpeakerSource>();
  masked = 0;

  leaveOut(reason: string, count = 1): void {
    if (count > 0) {
      this.leftOut.set(reason, (this.leftOut.get(reason) ?? 0) + count);
    }
  }

  /** Takes in who speaks. @returns the name under which they are: their own, or `others` once there are too many */
  speaker(name: string, by: SpeakerSource): string {
    if (this.speakers.has(name) || this.speakers.size < MOST_SPEAKERS - 1) {
      this.speakers.set(name, by);
      return name;
    }
    this.speakers.set(OTHERS, 'further speakers');
    return OTHERS;
  }
}
