/** The contexts of a log as they are stored: each as what it adds to the one before it, bounded each and together. */
import type { GrownContext } from '../../domain/message.ts';
import { BETWEEN, contextText, isShortened } from '../../logs/contextForm.ts';
import type { ListedContext, RecordedEpisode, RecordedEvent, RecordedMessage } from '../../logs/episode.ts';
import { GrowingContext, keyOfContext } from '../../team/contextKey.ts';

/** Characters of one. */
const LONGEST = 1_000_000;
const TOGETHER = 2 ** 31;
/** Of each, when they have so many together. */
const THEN = 10_000;

type List = ListedContext['list'];

/** What the text of a context adds to that of the context of its list before it, or all of it. */
interface ContextText {
  readonly goesOn: boolean;
  readonly text: string;
}

/** What is stored of an episode: its contexts need no list of messages any more. */
export type EntryToStore = (Omit<RecordedMessage, 'context'> & { readonly context: ContextToStore }) | RecordedEvent;
export type EpisodeToStore = Omit<RecordedEpisode, 'entries'> & { readonly entries: Iterable<EntryToStore> };

/** Makes of the contexts of a log what is stored of them. */
export class ContextsToStore {
  private readonly texts = new ContextTexts();
  private readonly names = new ContextNames();

  /** How many do not say all. */
  get shortened(): number {
    return this.texts.shortened;
  }

  entry(entry: RecordedMessage | RecordedEvent): EntryToStore {
    if (entry.kind === 'event') {
      return entry;
    }
    const { context } = entry;
    return { ...entry, context: this.names.of(context.list, this.texts.of(context)) };
  }

  *episodes(episodes: Iterable<RecordedEpisode>): Generator<EpisodeToStore> {
    for (const episode of episodes) {
      yield { ...episode, entries: this.entries(episode) };
    }
  }

  private *entries({ entries }: RecordedEpisode): Generator<EntryToStore> {
    for (const entry of entries) {
      yield this.entry(entry);
    }
  }
}

export class ContextTexts {
  /** How many do not say all. */
  shortened = 0;
  private total = 0;
  /** The last context of each list: its messages, the characters of its text, and whether that does not say all. */
  private readonly lists = new WeakMap<List, { count: number; characters: number; isShortened: boolean }>();

  of({ list, length: count }: ListedContext): ContextText {
    const most = this.total > TOGETHER ? THEN : LONGEST;
    const last = this.lists.get(list);
    const added = last === undefined || last.count > count ? null : contextText(list.slice(last.count, count));
    const since = added === null || added === '' || last?.characters === 0 ? added : BETWEEN + added;
    const goesOn = last !== undefined && since !== null && last.characters + since.length <= most;
    const whole = goesOn ? '' : contextText(list.slice(0, count), most);
    // Of one that is too long half is kept, so that others may go on from it.
    const text = goesOn ? since : isShortened(whole) ? contextText(list.slice(0, count), most / 2) : whole;
    const isCut = goesOn ? last.isShortened : isShortened(whole);
    this.lists.set(list, { count, characters: (goesOn ? last.characters : 0) + text.length, isShortened: isCut });
    this.total += text.length;
    this.shortened += isCut ? 1 : 0;
    return { goesOn, text };
  }
}

/** A context to be stored. */
export interface ContextToStore {
  readonly key: string;
  readonly context: string | GrownContext;
}

/** What names contexts in the store. */
export class ContextNames {
  /** The last context of each list; hashes go on from the text of the first, and most lists have no second. */
  private readonly lists = new WeakMap<List, { hashes: GrowingContext | string; key: string; characters: number }>();

  /** @param said of the contexts of a list, in order */
  of(list: List, { goesOn, text }: ContextText): ContextToStore {
    const last = goesOn ? this.lists.get(list) : undefined;
    if (last === undefined) {
      const key = keyOfContext(text);
      this.lists.set(list, { hashes: text, key, characters: text.length });
      return { key, context: text };
    }
    const { key: base, characters: baseLength } = last;
    const hashes = typeof last.hashes === 'string' ? growing(last.hashes) : last.hashes;
    hashes.add(text);
    const key = hashes.key();
    this.lists.set(list, { hashes, key, characters: baseLength + text.length });
    return { key, context: { base, baseLength, since: text, sha256: hashes.sha256() } };
  }
}

function growing(text: string): GrowingContext {
  const hashes = new GrowingContext();
  hashes.add(text);
  return hashes;
}
