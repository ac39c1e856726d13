/** How much one report may hold, and what it therefore leaves out. */
import type { Excerpt, LeftOut } from './types.ts';

/** Characters of texts in one report, and messages of branches. */
const CHARACTERS = 4_000_000;
const MESSAGES = 4_000;

/** Counts down while a report is put together; what was left out is said in it. */
export class Allowance {
  private characters = CHARACTERS;
  private messages = MESSAGES;
  private readonly omitted = new Map<string, number>();

  /** The beginning of a text; never half a character. */
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

  /** Takes the place of one message, unless there is none left. */
  takeMessage(): boolean {
    if (this.messages === 0) {
      return false;
    }
    this.messages--;
    return true;
  }

  /** Notes that something is left out. @param what in the plural */
  omit(what: string, count: number): void {
    if (count > 0) {
      this.omitted.set(what, (this.omitted.get(what) ?? 0) + count);
    }
  }

  get leftOut(): readonly LeftOut[] {
    return [...this.omitted].map(([what, count]) => ({ what, count }));
  }
}
