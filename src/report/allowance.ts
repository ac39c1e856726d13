/** Limits the size of a report, and counts what it leaves out. */

import type { Excerpt, LeftOut } from './types.ts';

/** The most characters of texts, and messages of branches, in one report. */
const CHARACTERS = 4_000_000;
const MESSAGES = 4_000;

/** Counts down while a report is built. The report names what was left out. */
export class Allowance {
  private characters = CHARACTERS;
  private messages = MESSAGES;
  private readonly omitted = new Map<string, number>();

  /** Returns the beginning of a text, without splitting a surrogate pair. */
  excerpt(text: string, limit: number): Excerpt {
    const room = Math.max(0, Math.min(limit, this.characters));
    if (text.length <= room) {
      this.characters -= text.length;
      return { text, leftOut: 0 };
    }
    const before = text.charCodeAt(room - 1);
    const end = before >= 0xd800 && before <= 0xdbff ? room - 1 : room;
    this.characters -= end;
    return { text: text.slice(0, end), leftOut: text.length - end };
  }

  /** Takes the place of one message. Returns false if none is left. */
  takeMessage(): boolean {
    if (this.messages === 0) {
      return false;
    }
    this.messages--;
    return true;
  }

  /**
   * Notes that something is left out.
   * @param what in the plural
   */
  omit(what: string, count: number): void {
    if (count > 0) {
      this.omitted.set(what, (this.omitted.get(what) ?? 0) + count);
    }
  }

  get leftOut(): readonly LeftOut[] {
    return [...this.omitted].map(([what, count]) => ({ what, count }));
  }
}
