/** The bytes of a log, which are read where they are needed and never as a whole. */
import { C3Error, messageOf } from '../shared/errors.ts';
import { masked } from './secrets.ts';

export interface LogSource {
  /** In errors. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /**
   * The bytes from `start` to before `end`, valid until the next call.
   * @throws C3Error('input') where they cannot be read
   */
  readonly read: (start: number, end: number) => Buffer;
  /** Fills a buffer with the bytes from `start`, as far as there are any. @returns how many those are */
  readonly fill: (buffer: Buffer, start: number) => number;
}

/** Where an entry is in the bytes of its log. */
export interface EntryPlace {
  readonly start: number;
  readonly end: number;
  /** From 1; 0 where it is not known. */
  readonly line: number;
}

/** What is read of a log, and how many texts of it were masked. */
export class LogReader {
  readonly source: LogSource;
  private readonly maskSecrets: boolean;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });

  constructor(source: LogSource, maskSecrets: boolean) {
    this.source = source;
    this.maskSecrets = maskSecrets;
  }

  /**
   * The value of an element.
   * @throws C3Error('input') naming its line, where it is no JSON in UTF-8
   */
  value({ start, end, line }: EntryPlace): { readonly value: unknown; readonly masked: number } {
    const place = `${this.source.name}${line === 0 ? '' : `:${String(line)}`}`;
    let text: string;
    try {
      text = this.decoder.decode(this.source.read(start, end));
    } catch (error) {
      if (error instanceof C3Error) {
        throw error;
      }
      throw new C3Error('input', `${place}: the text is not UTF-8; save the file as UTF-8.`, { cause: error });
    }
    const cleaned = this.maskSecrets ? masked(text) : { text, count: 0 };
    try {
      return { value: JSON.parse(cleaned.text) as unknown, masked: cleaned.count };
    } catch (error) {
      const why = messageOf(error).slice(0, 120);
      const advice = 'give one JSON document, or one in each line';
      throw new C3Error('input', `${place}: this is not JSON (${why}); ${advice}.`, { cause: error });
    }
  }
}
