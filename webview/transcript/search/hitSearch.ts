/** The search of the transcript panel: asks for hits, marks them, and steps through them. */
import type { SearchHits, TranscriptToHost } from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { Asking } from '../asking.ts';
import type { DetailPane } from '../message/detail.ts';
import type { TreeView } from '../tree/tree.ts';
import type { SearchBar } from './searchBar.ts';

/** What a search is seen in. */
interface SearchedViews {
  readonly tree: TreeView;
  readonly detail: DetailPane;
  readonly bar: SearchBar;
}

export class HitSearch {
  private readonly views: SearchedViews;
  private readonly post: (message: TranscriptToHost) => void;
  private readonly asking: Asking;
  private readonly steps = new HitSteps();
  private words = '';
  /** The layout that was searched last. */
  private revision = -1;
  /** Go to the first hit as soon as it is known. */
  private jump = false;
  /** The next row revealed, then the next message shown, was stepped to: its first hit is to be seen. */
  private stepped: 'no' | 'row' | 'text' = 'no';

  constructor(views: SearchedViews, post: (message: TranscriptToHost) => void, asking: Asking) {
    this.views = views;
    this.post = post;
    this.asking = asking;
  }

  get query(): string {
    return this.words;
  }

  /** Takes what was searched for before the page was thrown away; nothing is asked yet. */
  restore(query: string): void {
    this.words = query;
    this.views.bar.query = query;
  }

  /**
   * @param revision of the layout that is searched
   * @param jump whether to go to the first hit from where the keyboard is
   */
  search(query: string, revision: number, jump: boolean): void {
    this.words = query;
    this.revision = revision;
    this.jump = jump;
    this.views.tree.highlight(query.trim());
    this.views.detail.show({ query: query.trim() });
    this.steps.asked();
    this.asking.ask('search', { revision, query }, (hits) => {
      if (hits !== null) {
        this.found(hits, revision);
      }
    });
  }

  /** Takes the hits of a search; of an older one they are ignored. */
  private found(hits: SearchHits, revision: number): void {
    if (hits.query !== this.words || revision !== this.revision) {
      return;
    }
    const owed = this.steps.take(hits);
    if (this.jump && !hits.rows.includes(this.views.tree.place)) {
      this.step(1, revision);
    } else if (this.jump) {
      this.views.detail.seekHit();
    } else if (owed !== null) {
      this.step(owed, revision);
    }
    this.jump = false;
    this.showPlace();
  }

  step(direction: 1 | -1, revision: number): void {
    const index = this.steps.step(direction, this.views.tree.place);
    if (index === null) {
      return;
    }
    this.stepped = 'row';
    this.post({ type: 'locateRow', revision, index });
  }

  /** A row is brought into sight and selected. @param select selects it */
  revealed(index: number, select: () => void): void {
    const stepped = this.stepped === 'row';
    this.steps.arrived(index);
    select();
    if (stepped) {
      this.stepped = 'text';
    }
  }

  /** A message was selected, by whatever. */
  selected(): void {
    this.stepped = 'no';
  }

  /** The pane shows a message: one that was stepped to shows its first hit. */
  shown(): void {
    if (this.stepped === 'text') {
      this.views.detail.seekHit();
    }
    this.stepped = 'no';
  }

  /** What was asked for does not come. */
  failed(): void {
    this.steps.failed();
  }

  /** Shows which of the hits has the keyboard. */
  showPlace(): void {
    const { hits } = this.steps;
    const at = hits?.rows.indexOf(this.views.tree.place) ?? -1;
    this.views.bar.showHits(hits, at < 0 ? null : at);
  }
}

// Stepping through the hits of a search.

/**
 * The place in an ascending list of rows to go to from a row: the next or the previous hit, around the ends; null
 * without hits.
 */
export function stepFrom(rows: readonly number[], row: number, direction: 1 | -1): number | null {
  if (rows.length === 0) {
    return null;
  }
  const after = rows.findIndex((hit) => hit > row);
  if (direction === 1) {
    return after === -1 ? 0 : after;
  }
  const before = rows.findLastIndex((hit) => hit < row);
  return before === -1 ? rows.length - 1 : before;
}

/**
 * The hits of the newest search. A step that is asked for while they, or the row of the step before, are on the way is
 * not lost.
 */
export class HitSteps {
  private found: SearchHits | null = null;
  private waiting = false;
  private owed: 1 | -1 | null = null;
  /** The row that was stepped to, until it is there. */
  private aim: number | null = null;

  /** Those that were found last; a newer search may be on the way. */
  get hits(): SearchHits | null {
    return this.found;
  }

  /** A search was sent. */
  asked(): void {
    this.waiting = true;
    this.owed = null;
    this.aim = null;
  }

  /** Takes what it found. @returns the step that was asked for meanwhile */
  take(hits: SearchHits): 1 | -1 | null {
    const { owed } = this;
    this.found = hits;
    this.waiting = false;
    this.owed = null;
    return owed;
  }

  /** What was asked for does not come. */
  failed(): void {
    this.waiting = false;
    this.owed = null;
    this.aim = null;
  }

  /** @param place the row that has the keyboard @returns the row to go to; null where there is none, or none yet */
  step(direction: 1 | -1, place: number): number | null {
    if (this.waiting) {
      this.owed = direction;
      return null;
    }
    const rows = this.found?.rows ?? [];
    const at = stepFrom(rows, this.aim ?? place, direction);
    this.aim = at === null ? null : (rows[at] ?? null);
    return this.aim;
  }

  /** A row has the keyboard now. */
  arrived(row: number): void {
    if (row === this.aim) {
      this.aim = null;
    }
  }
}
