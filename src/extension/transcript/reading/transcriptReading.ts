/** Reads a transcript under a filter, keeps it up to date, and searches it. */

import type { VerdictName } from '../../../domain/taxonomy.ts';
import {
  MOST_HITS,
  NO_FILTER,
  type RowPlace,
  type SearchHits,
  type TranscriptFilter,
  type TranscriptLayout,
  type TranscriptRow,
  type TranscriptTarget,
} from '../../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import { isOpenFilter, matchesFilter } from './transcriptFilter.ts';
import { TranscriptOutline, type OutlineReader } from './transcriptOutline.ts';

/** Maximum number of hits in a run. Finding more takes too long. */
const MOST_FOUND = 300_000;

type Reader = OutlineReader &
  Pick<
    StoreReader,
    'facts' | 'returnScale' | 'searchIds' | 'questionHas' | 'labelledMessages' | 'version' | 'newestVerification'
  >;

/** The messages of each failure class of a run. */
export type ClassMembers = ReadonlyMap<VerdictName, ReadonlySet<number>>;

export class TranscriptReading {
  readonly target: TranscriptTarget;
  private readonly full: TranscriptOutline;
  private readonly shown: TranscriptOutline;
  private stamp: string;
  private readonly verification: number;
  readonly filter: TranscriptFilter;
  private readonly classes: ClassMembers | null;

  /** Reads a transcript. @param classes needed for a filter by class, which otherwise matches nothing */
  constructor(
    reader: Reader,
    target: TranscriptTarget,
    filter: TranscriptFilter = NO_FILTER,
    classes: ClassMembers | null = null,
    full?: TranscriptOutline,
  ) {
    this.target = target;
    this.filter = filter;
    this.classes = classes;
    this.stamp = reader.version();
    this.verification = reader.newestVerification();
    this.full = full ?? TranscriptOutline.read(reader, target);
    this.shown = isOpenFilter(filter) ? this.full : this.full.filtered(this.matching(reader));
  }

  /** Reads the transcript again. Returns this object if nothing was added. */
  refreshed(reader: Reader): TranscriptReading {
    const verification = reader.newestVerification();
    const stamp = reader.version();
    if (stamp === this.stamp) {
      return this;
    }
    const full = this.full.again(reader, this.target);
    this.stamp = stamp;
    if (full.signature === this.full.signature && verification === this.verification) {
      return this;
    }
    return new TranscriptReading(reader, this.target, this.filter, this.classes, full);
  }

  /** Returns the transcript under another filter. */
  filtered(reader: Reader, filter: TranscriptFilter, classes: ClassMembers | null): TranscriptReading {
    return new TranscriptReading(reader, this.target, filter, classes, this.full);
  }

  /** The numbers of rows, messages, matches and replays, and the lanes that are collapsed at first. */
  get sizes(): Pick<TranscriptLayout, 'rows' | 'messages' | 'matching' | 'replayed' | 'lanes'> {
    const { own, replayed, made } = this.full.counts;
    const shown = this.shown.counts;
    return {
      rows: this.shown.rows,
      messages: own.messages,
      matching: shown.own.matching,
      replayed: { ...made, messages: replayed.messages, matching: shown.replayed.matching },
      lanes: this.filter.lane === 'replays' ? [] : this.shown.lanes,
    };
  }

  window(reader: Reader, offset: number): readonly TranscriptRow[] {
    return this.shown.window(reader, this.target, offset);
  }

  /** Returns the place of a message, or null if the layout does not contain it. */
  place(message: number): RowPlace | null {
    return this.shown.place(message);
  }

  /** Returns true if the filter hides a message of the transcript. */
  hides(message: number): boolean {
    return this.shown.place(message) === null && this.full.place(message) !== null;
  }

  /** Returns the nearest visible row before a hidden message, or null for any other message. */
  nearest(message: number): number | null {
    if (!this.hides(message)) {
      return null;
    }
    for (let index = (this.full.indexOf(message) ?? 0) - 1; index > 0; index--) {
      const left = this.shown.indexOf(this.full.keyAt(index) ?? 0);
      if (left !== null) {
        return left;
      }
    }
    return 0;
  }

  /** Returns the place of the row at an index, or null for the question or a missing row. */
  placeAt(index: number): RowPlace | null {
    return this.shown.placeAt(index);
  }

  /** Finds the rows whose texts contain every word of a query. Row 0 is the question. */
  search(reader: Reader, query: string): SearchHits {
    if (query.trim() === '') {
      return { query, rows: [], total: 0, hidden: 0, elsewhere: 0 };
    }
    const ids = reader.searchIds(this.target.run, query, MOST_FOUND);
    const here = ids.filter((id) => this.full.has(id));
    const found = here
      .map((id) => this.shown.indexOf(id))
      .filter((index) => index !== null)
      .sort((a, b) => a - b);
    const rows = reader.questionHas(this.target.problem, query) ? [0, ...found] : found;
    return {
      query,
      rows: rows.slice(0, MOST_HITS),
      total: rows.length,
      hidden: here.length - found.length,
      elsewhere: ids.length === MOST_FOUND ? null : ids.length - here.length,
    };
  }

  private matching(reader: Reader): ReadonlySet<number> {
    const { filter } = this;
    const labelled = this.labelled(reader, filter.label);
    const scale = reader.returnScale(this.target.run);
    const kept = new Set<number>();
    for (const [place, group] of this.full.groups.entries()) {
      for (const facts of reader.facts(group)) {
        if (matchesFilter(filter, facts, scale, place > 0, labelled)) {
          kept.add(facts.id);
        }
      }
    }
    return kept;
  }

  private labelled(reader: Reader, label: string | null): ReadonlySet<number> {
    if (label === null) {
      return new Set();
    }
    if (label.startsWith('label:')) {
      return new Set(reader.labelledMessages(this.target.run, label.slice('label:'.length)));
    }
    return new Map<string, ReadonlySet<number>>(this.classes ?? []).get(label.slice('class:'.length)) ?? new Set();
  }
}
