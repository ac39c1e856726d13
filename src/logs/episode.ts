/** What other programs recorded of their agents, in the form that all formats are read into. */
import type { ChatMessage } from '../chat/messages.ts';
import type { SpeakerSource } from '../domain/episode.ts';
import type { Measured } from '../domain/message.ts';
import { MOST_NAME, renameFault, type Rename } from '../shared/speakerNames.ts';
import { oneLine } from '../shared/text/oneLine.ts';

/** The first messages of a list. Contexts that go on from one another share it, so that each costs what is new. */
export interface ListedContext {
  readonly list: readonly ChatMessage[];
  readonly length: number;
}

/** A context that shares its list with no other. */
export const ownContext = (list: readonly ChatMessage[]): ListedContext => ({ list, length: list.length });

/** Lists that the contexts of an episode go on from; of more than a few, those that were used last. */
const MOST_LISTS = 8;

/** Contexts that begin with all of an earlier one of their episode: each shares the list of that one. */
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

/** What was measured of a message beside its model and its tokens; null where the log does not say. */
export type RecordedMeasures = Omit<Measured, 'model' | 'promptTokens' | 'completionTokens'>;

/** What a model said. */
export interface RecordedMessage {
  readonly kind: 'message';
  readonly speaker: string;
  /** All that it was asked with, in order. */
  readonly context: ListedContext;
  readonly text: string;
  /** Null where the log does not say. */
  readonly model: string | null;
  /** Tokens as the log counts them; 0 where it does not. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly measured?: RecordedMeasures;
  readonly finish: 'end' | 'length';
  /** What a person noted of it in the log. */
  readonly mark?: { readonly name: string; readonly note: string };
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

/** Places that are named of each reason. */
const MOST_PLACES = 5;

interface LeftOut {
  count: number;
  readonly places: string[];
}

/** What is learned of a log while it is read. */
export class Survey {
  /** In the order in which they first spoke. */
  readonly speakers = new Map<string, SpeakerSource>();
  masked = 0;
  private readonly reasons = new Map<string, LeftOut>();
  private readonly renames: readonly Rename[];
  /** Who spoke, as they were called before; with the names that they have now. */
  private readonly heard = new Map<string, string | null>();

  /** @param renames other names for speakers */
  constructor(renames: readonly Rename[] = []) {
    this.renames = renames;
  }

  /** What is wrong with the new names, once all have spoken; null for nothing. */
  get renameFault(): string | null {
    return renameFault(this.renames, [...this.heard.keys()]);
  }

  /** @param place where it was left out, such as `line 2`; the first of each reason are named */
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

  /** How many entries were left out, by the reason, with the places of the first. */
  get leftOut(): ReadonlyMap<string, number> {
    return new Map(
      [...this.reasons].map(([reason, { count, places }]) => {
        const further = count > places.length ? ', ...' : '';
        return [places.length === 0 ? reason : `${reason} (${places.join('; ')}${further})`, count] as const;
      }),
    );
  }

  /** Who spoke so far under a name that the log gives. */
  named(): string[] {
    return [...this.speakers].flatMap(([name, by]) => (by === 'name' ? name : []));
  }

  /**
   * Takes in who speaks.
   * @returns the name under which they are: their own, one that the user gave them, or `others` once there are too many
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
    const shown = oneLine(called, MOST_NAME);
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
