/** Listens to the answer of one passing call, and records the call or counts it as left out. */

import { Readable } from 'node:stream';
import { isPacked, unpackBody } from '../../policy/endpoint/contentEncoding.ts';
import { readEventStream } from '../../policy/endpoint/events.ts';
import { GrowingBytes } from '../http/growingBytes.ts';
import type { AnswerEnd, AnswerListener } from './passOn.ts';
import type { PassedCall, Recording } from './recording.ts';

/** Most characters of one event. */
const MOST_EVENT = 8 * 2 ** 20;
/** The lowest HTTP status that is not an answer. */
const REFUSED = 300;
const UNKNOWN = 'calls whose answer is incomplete, or of an unknown form';
const PACKED = 'calls whose answer is compressed in an unknown way, damaged, or too long when decompressed';
const BROKEN: Readonly<Record<Exclude<AnswerEnd, 'whole'>, (server: string) => string>> = {
  cut: () => 'calls whose answer was cut off',
  left: () => 'calls that the program left before their answer was whole',
  unreached: (server) => `calls that reached no server at ${server}`,
};

/** Records a call before the program sees the end of its answer, or counts it as left out. */
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
   * @param server origin of the server that is asked
   * @param most largest answer in bytes; a longer answer is not read at all
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
      // Many programs stop reading at this event and disconnect.
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
      // The stream may be whole even if the connection did not end properly.
      await this.take(BROKEN[how](this.server));
    } else {
      this.leaveOut(BROKEN[how](this.server));
    }
  }

  /** Seconds since the request. */
  private get seconds(): number {
    return (performance.now() - this.asked) / 1000;
  }

  private leaveOut(reason: string): void {
    this.isSettled = true;
    this.heard.clear();
    this.recording.leaveOut(reason);
  }

  /** @param otherwise reason to report if the answer is not whole */
  private async take(otherwise: string): Promise<void> {
    this.isSettled = true;
    const { start, seconds, firstTokenSeconds } = this;
    let bytes: Buffer;
    try {
      bytes = await unpackBody(this.heard.bytes(), this.encoding, this.most);
    } catch {
      this.leaveOut(PACKED);
      return;
    }
    const answer = this.isStream ? await splitAnswerEvents(bytes) : bytes.toString('utf8');
    this.heard.clear();
    if (answer === null) {
      this.leaveOut(`calls whose answer has an event of more than ${MOST_EVENT} characters`);
    } else {
      await this.recording.take({ ...this.call, answer, times: { start, seconds, firstTokenSeconds }, otherwise });
    }
  }
}

/** Splits an answer into its events. Returns null if an event is too long. */
async function splitAnswerEvents(bytes: Buffer): Promise<string[] | null> {
  const events: string[] = [];
  try {
    for await (const event of readEventStream(Readable.from([bytes]), MOST_EVENT)) {
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

/**
 * Beginnings of the lines that end a stream: chat completions and completions, responses, and
 * messages. Model servers send them before the connection ends.
 */
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

/** Detects the end of a stream in passing bytes. Holds only the beginning of the current line. */
class StreamEnd {
  private beginning = '';
  private isNamed = false;
  private isSaid = false;

  /** Reads the next bytes. @returns true if the event that ends the answer is now complete */
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

  /** Handles a complete line. An empty line ends its event. */
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
