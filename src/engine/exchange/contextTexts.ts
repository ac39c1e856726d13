/** Stores each context of a log as what it adds to the one before it, with limits on the texts. */

import type { GrownContext } from '../../domain/message.ts';
import { BETWEEN, contextText, isShortened } from '../../logs/contextForm.ts';
import type { ListedContext, RecordedEpisode, RecordedEvent, RecordedMessage } from '../../logs/episode.ts';
import { GrowingContext, hashContextKey } from '../../team/contextKey.ts';

/** Maximum characters of one context. */
const MAX_CONTEXT_CHARACTERS = 1_000_000;
/** Characters of all contexts together after which `MAX_REDUCED_CHARACTERS` limits each of them. */
const MAX_UNREDUCED_CHARACTERS = 2 ** 31;
const MAX_REDUCED_CHARACTERS = 10_000;

type List = ListedContext['list'];

/** The text that a context adds to the previous context of its list, or its whole text. */
interface ContextText {
  readonly goesOn: boolean;
  readonly text: string;
}

/** An episode in the form in which it is stored: its contexts no longer contain lists of messages. */
export type EntryToStore = (Omit<RecordedMessage, 'context'> & { readonly context: ContextToStore }) | RecordedEvent;
export type EpisodeToStore = Omit<RecordedEpisode, 'entries'> & { readonly entries: Iterable<EntryToStore> };

/** Converts the contexts of a log to the form in which they are stored. */
export class ContextsToStore {
  private readonly texts = new ContextTexts();
  private readonly names = new ContextNames();

  /** Number of contexts that were shortened. */
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
  /** Number of contexts that were shortened. */
  shortened = 0;
  private total = 0;
  /** The last context of each list: its number of messages, and the characters of its text. */
  private readonly lists = new WeakMap<List, { count: number; characters: number; isShortened: boolean }>();

  of({ list, length: count }: ListedContext): ContextText {
    const most = this.total > MAX_UNREDUCED_CHARACTERS ? MAX_REDUCED_CHARACTERS : MAX_CONTEXT_CHARACTERS;
    const last = this.lists.get(list);
    const added = last === undefined || last.count > count ? null : contextText(list.slice(last.count, count));
    const since = added === null || added === '' || last?.characters === 0 ? added : BETWEEN + added;
    const goesOn = last !== undefined && since !== null && last.characters + since.length <= most;
    const whole = goesOn ? '' : contextText(list.slice(0, count), most);
    // A context that is too long is cut to half of the limit, so that later contexts can extend it.
    const text = goesOn ? since : isShortened(whole) ? contextText(list.slice(0, count), most / 2) : whole;
    const isCut = goesOn ? last.isShortened : isShortened(whole);
    this.lists.set(list, { count, characters: (goesOn ? last.characters : 0) + text.length, isShortened: isCut });
    this.total += text.length;
    this.shortened += isCut ? 1 : 0;
    return { goesOn, text };
  }
}

export interface ContextToStore {
  readonly key: string;
  readonly context: string | GrownContext;
}

/** Computes the keys of contexts in the store. */
export class ContextNames {
  /** The last context of each list. Its hash state is made when a second context follows. */
  private readonly lists = new WeakMap<List, { hashes: GrowingContext | string; key: string; characters: number }>();

  /** @param said the contexts of a list, in order */
  of(list: List, { goesOn, text }: ContextText): ContextToStore {
    const last = goesOn ? this.lists.get(list) : undefined;
    if (last === undefined) {
      const key = hashContextKey(text);
      this.lists.set(list, { hashes: text, key, characters: text.length });
      return { key, context: text };
    }
    const { key: base, characters: baseLength } = last;
    const hashes = typeof last.hashes === 'string' ? beginContextHash(last.hashes) : last.hashes;
    hashes.add(text);
    const key = hashes.key();
    this.lists.set(list, { hashes, key, characters: baseLength + text.length });
    return { key, context: { base, baseLength, since: text, sha256: hashes.sha256() } };
  }
}

function beginContextHash(text: string): GrowingContext {
  const hashes = new GrowingContext();
  hashes.add(text);
  return hashes;
}
