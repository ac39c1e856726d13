/** The form into which recordings of agents in all formats are read. */

import type { ChatMessage } from '../chat/messages.ts';
import type { SpeakerSource } from '../domain/episode.ts';
import type { Measured } from '../domain/message.ts';
import { MOST_NAME, findRenameFault, type Rename } from '../shared/speakerNames.ts';
import { toOneLine } from '../shared/text/oneLine.ts';

/** The first messages of a list, which the contexts that extend each other share. */
export interface ListedContext {
  readonly list: readonly ChatMessage[];
  readonly length: number;
}

/** Returns a context that shares its list with no other. */
export const ownContext = (list: readonly ChatMessage[]): ListedContext => ({ list, length: list.length });

/** The most lists that are kept for contexts to extend. The most recently used stay. */
const MOST_LISTS = 8;

/** Lets a context that extends an earlier one of its episode share the list of that one. */
export class SharedContexts {
  private lists: readonly ChatMessage[][] = [];

  of(context: readonly ChatMessage[]): ListedContext {
    const known = this.lists.filter((list) => beginsWith(context, list));
    const list = known.toSorted((a, b) => b.length - a.length)[0] ?? [];
    for (const message of context.slice(list.length)) {
      list.push(message);
    }
    this.lists = [list, ...this.lists.filter((one) => one !== list)].slice(0, MOST_LISTS);
    return ownContext(list);
  }
}

const beginsWith = (context: readonly ChatMessage[], list: readonly ChatMessage[]): boolean =>
  list.length <= context.length &&
  list.every((known, at) => {
    const message = context[at];
    return known.role === message?.role && known.name === message.name && known.text === message.text;
  });

/** The measures of a message other than its model and its tokens. Null if the log does not say. */
export type RecordedMeasures = Omit<Measured, 'model' | 'promptTokens' | 'completionTokens'>;

/** A message of a model. */
export interface RecordedMessage {
  readonly kind: 'message';
  readonly speaker: string;
  /** The whole input, in order. */
  readonly context: ListedContext;
  readonly text: string;
  /** Null if the log does not say. */
  readonly model: string | null;
  /** Tokens as the log counts them, or 0 if it does not. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly measured?: RecordedMeasures;
  readonly finish: 'end' | 'length';
  /** A person's note about it in the log. */
  readonly mark?: { readonly name: string; readonly note: string };
}

/** An input from outside the models: a tool's result, or a person's words. */
export interface RecordedEvent {
  readonly kind: 'event';
  /** The tool, or `user`. */
  readonly source: string;
  readonly text: string;
}

export interface RecordedEpisode {
  /** The id in the log: a trace or a line. */
  readonly id: string;
  /** The question that the first message answers. */
  readonly question: string;
  /** The correct answer, or an empty text if the log does not say. */
  readonly answer: string;
  /** The score of the episode, or null if the log does not say. */
  readonly return: number | null;
  /** The entries, read during iteration and only once, because an episode may be longer than memory. */
  readonly entries: Iterable<RecordedMessage | RecordedEvent>;
}

/** A log in one of the formats. Each call of `episodes` reads it anew. */
export interface RecordedLog {
  readonly format: string;
  /** @throws C3Error('input') for an entry that is not JSON */
  readonly episodes: (survey: Survey) => Generator<RecordedEpisode>;
}

/** The most roles of a team. The last of them is for all later speakers. */
const MOST_SPEAKERS = 64;
export const OTHERS = 'others';

/** The number of entries that were left out, by reason. */
export type LeftOutCounts = readonly (readonly [string, number])[];

/** The most places that are named for each reason. */
const MOST_PLACES = 5;

interface LeftOut {
  count: number;
  readonly places: string[];
}

/** Collects speakers and left-out entries while a log is read. */
export class Survey {
  /** The speakers in the order in which they first spoke. */
  readonly speakers = new Map<string, SpeakerSource>();
  masked = 0;
  private readonly reasons = new Map<string, LeftOut>();
  private readonly renames: readonly Rename[];
  /** The speakers by their original names, with their new names. */
  private readonly heard = new Map<string, string | null>();

  /** @param renames new names of speakers */
  constructor(renames: readonly Rename[] = []) {
    this.renames = renames;
  }

  /** The fault of the renames, once all have spoken, or null. */
  get renameFault(): string | null {
    return findRenameFault(this.renames, [...this.heard.keys()]);
  }

  /**
   * Counts entries as left out.
   * @param place where they were, such as `line 2`; the first places of each reason are named
   */
  leaveOut(reason: string, count = 1, place: string | null = null): void {
    if (count <= 0) {
      return;
    }
    const known = this.reasons.get(reason) ?? { count: 0, places: [] };
    this.reasons.set(reason, known);
    known.count += count;
    if (place !== null && known.places.length < MOST_PLACES) {
      known.places.push(place);
    }
  }

  /** The number of left-out entries by reason, with their first places. */
  get leftOut(): ReadonlyMap<string, number> {
    return new Map(
      [...this.reasons].map(([reason, { count, places }]) => {
        const further = count > places.length ? ', ...' : '';
        return [places.length === 0 ? reason : `${reason} (${places.join('; ')}${further})`, count] as const;
      }),
    );
  }

  /** Returns the speakers so far whose names the log gives. */
  named(): string[] {
    return [...this.speakers].flatMap(([name, by]) => (by === 'name' ? name : []));
  }

  /**
   * Records a speaker.
   * @returns the name to use: its own, the one from a rename, or `others` if there are too many
   *   speakers
   */
  speaker(called: string, how: SpeakerSource): string {
    const renamed = this.renamed(called);
    const [name, by] = renamed === null ? [called, how] : [renamed, 'renamed' as const];
    if (this.speakers.has(name) || this.speakers.size < MOST_SPEAKERS - 1) {
      this.speakers.set(name, by);
      return name;
    }
    this.speakers.set(OTHERS, 'further speakers');
    return OTHERS;
  }

  private renamed(called: string): string | null {
    const shown = toOneLine(called, MOST_NAME);
    const known = this.heard.get(shown);
    if (known !== undefined) {
      return known;
    }
    const renamed = this.renames.find(([old]) => old === shown)?.[1] ?? null;
    if (renamed !== null || this.heard.size < MOST_SPEAKERS) {
      this.heard.set(shown, renamed);
    }
    return renamed;
  }
}
