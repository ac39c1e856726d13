/** The contexts of a log as they are stored: bounded each, and together. */
import { contextText } from '../../logs/contextForm.ts';
import type { ChatMessage } from '../../chat/messages.ts';

/** Characters. A context has everything said before it, so that they grow with the square of a conversation. */
const LONGEST = 1_000_000;
const TOGETHER = 2 ** 31;
/** Of each, when they have so many together. */
const THEN = 10_000;

export class ContextTexts {
  /** How many do not say all. */
  shortened = 0;
  private total = 0;

  of(context: readonly ChatMessage[]): string {
    const most = this.total > TOGETHER ? THEN : LONGEST;
    if (context.reduce((sum, { text }) => sum + text.length, 0) > most) {
      this.shortened++;
    }
    const text = contextText(context, most);
    this.total += text.length;
    return text;
  }
}
