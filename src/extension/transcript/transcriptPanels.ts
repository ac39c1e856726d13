/** All open transcript panels: a click uses the one last looked at, unless a panel of its own is asked for. */
import { ViewColumn, type WebviewPanel } from 'vscode';
import {
  TRANSCRIPT_PANEL,
  isTranscriptState,
  type TranscriptTarget,
} from '../../shared/protocols/transcriptProtocol.ts';
import type { Services } from '../services.ts';
import { TranscriptPanel } from './transcriptPanel.ts';
import { createPanel } from '../webview/webviewDoor.ts';

export class TranscriptPanels {
  private readonly services: Services;
  /** The one last looked at comes last. */
  private readonly panels: TranscriptPanel[] = [];

  constructor(services: Services) {
    this.services = services;
  }

  /**
   * The panel that has the focus, or was last looked at: a command that is given elsewhere, as in the walkthrough,
   * means that one.
   */
  get active(): TranscriptPanel | undefined {
    return this.panels.find((candidate) => candidate.panel.active) ?? this.panels.at(-1);
  }

  /** The run of the transcript that is the editor in front. */
  get runInFront(): string | null {
    return this.panels.find((candidate) => candidate.panel.active)?.run ?? null;
  }

  /** Closes the transcripts of a run that was deleted: its numbers may come again. */
  closeRun(run: string): void {
    for (const { panel } of this.panels.filter((candidate) => candidate.run === run)) {
      panel.dispose();
    }
  }

  /** Shows a message in its transcript; `beside` asks for a panel of its own. */
  open(target: TranscriptTarget, message: number | null, beside = false): TranscriptPanel {
    const present = beside
      ? undefined
      : (this.panels.findLast((candidate) => candidate.shows(target)) ?? this.panels.at(-1));
    if (present !== undefined) {
      present.show(target, message);
      present.focus();
      return present;
    }
    const panel = createPanel(TRANSCRIPT_PANEL, this.services, {
      viewColumn: beside ? ViewColumn.Beside : ViewColumn.Active,
      preserveFocus: false,
    });
    return this.adopt(panel, target, message);
  }

  /** Brings a panel back after a reload; one whose state cannot be read is closed. */
  restore(panel: WebviewPanel, state: unknown): void {
    if (isTranscriptState(state)) {
      this.adopt(panel, state.target, state.selected);
    } else {
      panel.dispose();
    }
  }

  private adopt(panel: WebviewPanel, target: TranscriptTarget, message: number | null): TranscriptPanel {
    const transcript = new TranscriptPanel(panel, this.services, target, message);
    this.panels.push(transcript);
    panel.onDidChangeViewState(() => {
      if (!panel.active) {
        return;
      }
      this.forget(transcript);
      this.panels.push(transcript);
    });
    panel.onDidDispose(() => {
      this.forget(transcript);
    });
    return transcript;
  }

  private forget(transcript: TranscriptPanel): void {
    const index = this.panels.indexOf(transcript);
    if (index >= 0) {
      this.panels.splice(index, 1);
    }
  }
}
