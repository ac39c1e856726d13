/** The search of the transcript panel: requests hits, highlights them, and steps through them. */

import type { SearchHits, TranscriptToHost } from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { TranscriptRequestSender } from '../asking.ts';
import type { DetailPane } from '../message/detail.ts';
import type { TreeView } from '../tree/tree.ts';
import type { SearchBar } from './searchBar.ts';

/** The views that show a search. */
interface SearchedViews {
  readonly tree: TreeView;
  readonly detail: DetailPane;
  readonly bar: SearchBar;
}

export class HitSearch {
  private readonly views: SearchedViews;
  private readonly post: (message: TranscriptToHost) => void;
  private readonly asking: TranscriptRequestSender;
  private readonly steps = new HitSteps();
  private words = '';
  /** Revision of the layout that was searched last. */
  private revision = -1;
  /** True to go to the first hit as soon as it is known. */
  private jump = false;
  /** Progress of a step: its row is revealed, then its message is shown at its first hit. */
  private stepped: 'no' | 'row' | 'text' = 'no';

  constructor(views: SearchedViews, post: (message: TranscriptToHost) => void, asking: TranscriptRequestSender) {
    this.views = views;
    this.post = post;
    this.asking = asking;
  }

  get query(): string {
    return this.words;
  }

  /** Restores the search of a page that the editor discarded. Requests nothing yet. */
  restore(query: string): void {
    this.words = query;
    this.views.bar.query = query;
  }

  /**
   * @param revision revision of the layout to search
   * @param jump true to go to the first hit after the focused row
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

  /** Takes the hits of a search. Ignores those of an older search. */
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

  /** Handles that a row was scrolled into view. @param select selects the row */
  revealed(index: number, select: () => void): void {
    const stepped = this.stepped === 'row';
    this.steps.arrived(index);
    select();
    if (stepped) {
      this.stepped = 'text';
    }
  }

  /** Handles that a message was selected in any way. */
  selected(): void {
    this.stepped = 'no';
  }

  /** Handles that the pane shows a message. Scrolls to its first hit if a step led to it. */
  shown(): void {
    if (this.stepped === 'text') {
      this.views.detail.seekHit();
    }
    this.stepped = 'no';
  }

  /** Handles a failure of the host. */
  failed(): void {
    this.steps.failed();
  }

  /** Shows the number of the focused hit. */
  showPlace(): void {
    const { hits } = this.steps;
    const at = hits?.rows.indexOf(this.views.tree.place) ?? -1;
    this.views.bar.showHits(hits, at < 0 ? null : at);
  }
}

/**
 * Returns the place, in an ascending list of rows with hits, of the next or the previous hit from a
 * row. Wraps around. Returns null if there are no hits.
 */
export function findStep(rows: readonly number[], row: number, direction: 1 | -1): number | null {
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

/** The hits of the newest search. Remembers a step requested before hits or a row are here. */
export class HitSteps {
  private found: SearchHits | null = null;
  private waiting = false;
  private owed: 1 | -1 | null = null;
  /** The row of the last step, until it is focused. */
  private aim: number | null = null;

  /** The hits that were found last. A newer search may be on its way. */
  get hits(): SearchHits | null {
    return this.found;
  }

  /** Handles that a search was sent. */
  asked(): void {
    this.waiting = true;
    this.owed = null;
    this.aim = null;
  }

  /** Takes the hits. @returns the step that was requested meanwhile, or null */
  take(hits: SearchHits): 1 | -1 | null {
    const { owed } = this;
    this.found = hits;
    this.waiting = false;
    this.owed = null;
    return owed;
  }

  /** Handles a failure of the host. */
  failed(): void {
    this.waiting = false;
    this.owed = null;
    this.aim = null;
  }

  /** @param place the focused row @returns the row to go to; null if there is none, or none yet */
  step(direction: 1 | -1, place: number): number | null {
    if (this.waiting) {
      this.owed = direction;
      return null;
    }
    const rows = this.found?.rows ?? [];
    const at = findStep(rows, this.aim ?? place, direction);
    this.aim = at === null ? null : (rows[at] ?? null);
    return this.aim;
  }

  /** Handles that a row is focused. */
  arrived(row: number): void {
    if (row === this.aim) {
      this.aim = null;
    }
  }
}
