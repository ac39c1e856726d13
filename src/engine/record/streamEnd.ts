/** The end of an answer in events, as the servers of models say it before the connection ends. */

/** How lines begin that say it: chat completions and completions, responses, messages. */
const ENDS: readonly string[] = [
  'data: [DONE]',
  'data:[DONE]',
  'event: response.completed',
  'event:response.completed',
  'event: response.incomplete',
  'event:response.incomplete',
  'event: message_stop',
  'event:message_stop',
];
const MOST_BEGINNING = Math.max(...ENDS.map((end) => end.length));
const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/** Sees the end in the bytes that pass by; keeps the beginning of one line alone. */
export class StreamEnd {
  private beginning = '';
  private isNamed = false;
  private isSaid = false;

  /** Takes in what comes next. @returns whether the event that ends the answer is whole by now */
  sees(piece: Buffer): boolean {
    let from = 0;
    while (!this.isSaid && from < piece.length) {
      const feed = piece.indexOf(LINE_FEED, from);
      const to = feed < 0 ? piece.length : feed;
      const room = MOST_BEGINNING - this.beginning.length;
      if (room > 0) {
        this.beginning += piece.toString('latin1', from, Math.min(to, from + room));
      }
      if (feed >= 0) {
        this.line();
      }
      from = to + 1;
    }
    return this.isSaid;
  }

  /** A line is whole: an empty one ends its event. */
  private line(): void {
    const { beginning } = this;
    this.beginning = '';
    if (beginning === '' || beginning.charCodeAt(0) === CARRIAGE_RETURN) {
      this.isSaid = this.isNamed;
    } else if (ENDS.some((end) => beginning.startsWith(end))) {
      this.isNamed = true;
    }
  }
}
