/** The log of the extension: an output channel that is created with its first line. */

import { window, type LogOutputChannel } from 'vscode';

export class Log {
  private channel: LogOutputChannel | null = null;

  info(line: string): void {
    this.open().info(line);
  }

  error(line: string): void {
    this.open().error(line);
  }

  show(): void {
    this.open().show(true);
  }

  dispose(): void {
    this.channel?.dispose();
  }

  private open(): LogOutputChannel {
    return (this.channel ??= window.createOutputChannel('C3', { log: true }));
  }
}
