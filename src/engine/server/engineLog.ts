/**
 * The engine's log: standard error, which whoever started it sent to a file. The file stays small, and the last lines
 * are kept for whoever connects.
 */
import { fstatSync, ftruncateSync, writeSync } from 'node:fs';

const STANDARD_ERROR = 2;
const MOST_BYTES = 1 << 20;
const LINES_KEPT = 200;
const LONGEST_LINE = 4000;

export class EngineLog {
  private readonly lines: string[] = [];
  /** Hears of every line. */
  onLine: (line: string) => void = () => undefined;

  write(text: string): void {
    const line = text.slice(0, LONGEST_LINE);
    this.lines.push(line);
    if (this.lines.length > LINES_KEPT) {
      this.lines.shift();
    }
    try {
      const stats = fstatSync(STANDARD_ERROR);
      // Opened for appending, the file continues at its new end.
      if (stats.isFile() && stats.size > MOST_BYTES) {
        ftruncateSync(STANDARD_ERROR);
      }
      writeSync(STANDARD_ERROR, `${line}\n`);
    } catch {
      // A disk that is full, or a pipe that nobody reads any more.
    }
    this.onLine(line);
  }

  /** The last lines, oldest first. */
  recent(): readonly string[] {
    return [...this.lines];
  }
}
