/** A call whose answer passes by: what is heard of it, and when it is taken in or counted. */
import { Readable } from 'node:stream';
import { isPacked, unpackedBody } from '../../policy/endpoint/contentEncoding.ts';
import { eventsIn } from '../../policy/endpoint/events.ts';
import { GrowingBytes } from '../http/growingBytes.ts';
import type { AnswerEnd, AnswerListener } from './passOn.ts';
import type { PassedCall, Recording } from './recording.ts';

/** Characters of one event. */
const MOST_EVENT = 8 * 2 ** 20;
/** The first status that is no answer. */
const REFUSED = 300;
const UNKNOWN = 'calls whose answer is incomplete, or of an unknown form';
const PACKED = 'calls whose answer is packed in a way that is not read, damaged, or too long once it is unpacked';
const BROKEN: Readonly<Record<Exclude<AnswerEnd, 'whole'>, (server: string) => string>> = {
  cut: () => 'calls whose answer was cut off',
  left: () => 'calls that the program left before their answer was whole',
  unreached: (server) => `calls that reached no server at ${server}`,
};

/** Takes a call in once, before the program knows the end of its answer; a call that cannot be is counted once. */
export class HeardCall implements AnswerListener {
  private readonly recording: Pick<Recording, 'take' | 'leaveOut'>;
  private readonly call: Omit<PassedCall, 'answer' | 'times' | 'otherwise'>;
  private readonly server: string;
  private readonly most: number;
  private readonly heard = new GrowingBytes();
  private readonly streamEnd = new StreamEnd();
  private readonly start = Date.now();
  private readonly asked = performance.now();
  private firstTokenSeconds: number | null = null;
  private length = 0;
  private status = 0;
  private isStream = false;
  private encoding: string | undefined;
  private isSettled = false;

  /**
   * @param server the origin that is asked
   * @param most bytes of an answer that is read; of a longer one nothing is
   */
  constructor(
    recording: Pick<Recording, 'take' | 'leaveOut'>,
    call: Omit<PassedCall, 'answer' | 'times' | 'otherwise'>,
    server: string,
    most: number,
  ) {
    this.recording = recording;
    this.call = call;
    this.server = server;
    this.most = most;
  }

  head(status: number, type: string, encoding: string | undefined): void {
    this.status = status;
    this.encoding = encoding;
    this.isStream = /^text\/event-stream\b/iu.test(type);
  }

  async piece(piece: Buffer): Promise<void> {
    if (this.isSettled) {
      return;
    }
    if (this.isStream) {
      this.firstTokenSeconds ??= this.seconds;
    }
    this.length += piece.length;
    if (this.status >= REFUSED) {
      this.leaveOut(`calls that the server refused (${this.status})`);
    } else if (this.length > this.most) {
      this.leaveOut(`calls whose answer has more than ${this.most} bytes`);
    } else {
      this.heard.add(piece);
      // Many programs read no further than to this event, and leave.
      if (this.isStream && !isPacked(this.encoding) && this.streamEnd.sees(piece)) {
        await this.take(UNKNOWN);
      }
    }
  }

  async end(how: AnswerEnd): Promise<void> {
    if (this.isSettled) {
      return;
    }
    if (this.status >= REFUSED) {
      this.leaveOut(`calls that the server refused (${this.status})`);
    } else if (how === 'whole') {
      await this.take(UNKNOWN);
    } else if (this.isStream) {
      // All may have been said but the end of the connection.
      await this.take(BROKEN[how](this.server));
    } else {
      this.leaveOut(BROKEN[how](this.server));
    }
  }

  /** Since it was asked. */
  private get seconds(): number {
    return (performance.now() - this.asked) / 1000;
  }

  private leaveOut(reason: string): void {
    this.isSettled = true;
    this.heard.clear();
    this.recording.leaveOut(reason);
  }

  /** @param otherwise why it is left out where its answer is not whole */
  private async take(otherwise: string): Promise<void> {
    this.isSettled = true;
    const { start, seconds, firstTokenSeconds } = this;
    let bytes: Buffer;
    try {
      bytes = await unpackedBody(this.heard.bytes(), this.encoding, this.most);
    } catch {
      this.leaveOut(PACKED);
      return;
    }
    const answer = this.isStream ? await eventsOf(bytes) : bytes.toString('utf8');
    this.heard.clear();
    if (answer === null) {
      this.leaveOut(`calls whose answer has an event of more than ${MOST_EVENT} characters`);
    } else {
      await this.recording.take({ ...this.call, answer, times: { start, seconds, firstTokenSeconds }, otherwise });
    }
  }
}

/** The events of an answer; null where one is too long. */
async function eventsOf(bytes: Buffer): Promise<string[] | null> {
  const events: string[] = [];
  try {
    for await (const event of eventsIn(Readable.from([bytes]), MOST_EVENT)) {
      if (event.length > MOST_EVENT) {
        return null;
      }
      events.push(event);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) {
      throw error;
    }
    return null;
  }
  return events;
}

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
class StreamEnd {
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
