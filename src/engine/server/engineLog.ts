/**
 * The engine's log. It goes to standard error, which the starting process sends to a file. The file
 * stays small, and the last lines are kept for clients that connect.
 */

import { fstatSync, ftruncateSync, writeSync } from 'node:fs';

const STANDARD_ERROR = 2;
const MOST_BYTES = 1 << 20;
const LINES_KEPT = 200;
const LONGEST_LINE = 4000;

export class EngineLog {
  private readonly lines: string[] = [];
  /** Called with every line. */
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
      // The disk is full, or the pipe is not read anymore.
    }
    this.onLine(line);
  }

  /** The last lines, oldest first. */
  recent(): readonly string[] {
    return [...this.lines];
  }
}
