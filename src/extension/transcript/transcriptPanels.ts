/** The open transcript panels. A message opens in the last used one, unless a new one is requested. */

import { ViewColumn, window, type WebviewPanel } from 'vscode';
import { NO_FILTER } from '../../domain/taxonomy.ts';
import { C3Error } from '../../shared/errors.ts';
import {
  TRANSCRIPT_PANEL,
  isTranscriptState,
  type TranscriptFromHost,
  type TranscriptTarget,
} from '../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { runCommand } from '../common/runCommand.ts';
import { readReplayDefaults } from '../common/settings.ts';
import type { Services } from '../services.ts';
import type { Page } from '../webview/panelSession.ts';
import { openSession } from '../webview/panels.ts';
import { createPanel } from '../webview/webviewDoor.ts';
import { findLost } from './findLost.ts';
import { loadProtocolReader } from './message/protocolReader.ts';
import { PanelReplay } from './panelReplay.ts';
import type { ClassMembers } from './reading/transcriptReading.ts';
import { chooseReplayModel } from './replayModel.ts';
import { TranscriptSession } from './transcriptSession.ts';

/** Milliseconds that the status bar names the message that was selected. */
const SHORTLY = 5000;

interface OpenTranscript {
  readonly tab: WebviewPanel;
  readonly session: TranscriptSession;
}

export class TranscriptPanels {
  private readonly services: Services;
  /** The panels, the last used one last. */
  private readonly panels: OpenTranscript[] = [];

  constructor(services: Services) {
    this.services = services;
  }

  /** The active or last used transcript, to which commands given elsewhere apply, as in the walkthrough. */
  get active(): TranscriptSession | undefined {
    return this.lastSeen?.session;
  }

  /** Reveals the active or last used transcript. */
  reveal(): TranscriptSession | undefined {
    const { lastSeen } = this;
    lastSeen?.tab.reveal();
    return lastSeen?.session;
  }

  private get lastSeen(): OpenTranscript | undefined {
    return this.panels.find(({ tab }) => tab.active) ?? this.panels.at(-1);
  }

  /** The run of the transcript that is the active editor, or null. */
  get runInFront(): string | null {
    return this.panels.find(({ tab }) => tab.active)?.session.run ?? null;
  }

  /** Closes the transcripts of a run that was deleted, since its message ids may be used again. */
  closeRun(run: string): void {
    for (const { tab } of this.panels.filter(({ session }) => session.run === run)) {
      tab.dispose();
    }
  }

  /**
   * Shows a message in its transcript and reveals it. @param beside true opens a separate panel beside
   * the editor
   */
  open(target: TranscriptTarget, message: number | null, beside = false): TranscriptSession {
    const present = beside
      ? undefined
      : (this.panels.findLast(({ session }) => session.shows(target)) ?? this.panels.at(-1));
    if (present !== undefined) {
      const { session, tab } = present;
      session.show(target, message);
      tab.reveal(undefined, false);
      session.focus();
      return session;
    }
    const tab = createPanel(TRANSCRIPT_PANEL, this.services, {
      viewColumn: beside ? ViewColumn.Beside : ViewColumn.Active,
      preserveFocus: false,
    });
    return this.adopt(tab, target, message);
  }

  /** Restores a panel after a reload, or closes it if its state is invalid. */
  restore(tab: WebviewPanel, state: unknown): void {
    if (isTranscriptState(state)) {
      this.adopt(tab, state.target, state.selected);
    } else {
      tab.dispose();
    }
  }

  private adopt(tab: WebviewPanel, target: TranscriptTarget, message: number | null): TranscriptSession {
    const session = beginTranscriptSession(tab, this.services, target, message);
    const transcript = { tab, session };
    this.panels.push(transcript);
    tab.onDidChangeViewState(() => {
      if (!tab.active) {
        return;
      }
      this.forget(transcript);
      this.panels.push(transcript);
    });
    tab.onDidDispose(() => this.forget(transcript));
    return session;
  }

  private forget(transcript: OpenTranscript): void {
    const index = this.panels.indexOf(transcript);
    if (index >= 0) {
      this.panels.splice(index, 1);
    }
  }
}

function beginTranscriptSession(
  tab: WebviewPanel,
  services: Services,
  target: TranscriptTarget,
  selected: number | null,
): TranscriptSession {
  const { engine, store, comparing, verifier, modelFolders } = services;
  const reader = (): ReturnType<typeof requireTranscriptStore> => requireTranscriptStore(services);
  return openSession(
    tab,
    TRANSCRIPT_PANEL,
    services,
    (page: Page<TranscriptFromHost>) =>
      new TranscriptSession(target, selected, page, {
        reader,
        protocols: loadProtocolReader,
        replays: (changed) => new PanelReplay(services, changed),
        comparing,
        classesOf: (run) => readClassMembers(services, run),
        chooseModel: async () => (await chooseReplayModel(modelFolders)) ?? null,
        findLost: (replay, message, show) => findLost({ engine, store, replay, reader }, message, show),
        defaults: () => ({ ...readReplayDefaults(), unavailable: engine.unavailable() }),
        verify: async (message) => await verifier.verify(message),
        command: runCommand,
        say: (words) => void window.showInformationMessage(words),
        sayBriefly: (words) => window.setStatusBarMessage(words, SHORTLY),
        title: (words) => {
          tab.title = words;
        },
      }),
  );
}

// The members of the failure classes, for the filter by class

/** Asks the engine to classify the cases of a run with the workspace's thresholds. */
async function readClassMembers(
  { engine, thresholds }: Pick<Services, 'engine' | 'thresholds'>,
  run: string,
): Promise<ClassMembers> {
  const { rows } = await engine
    .client()
    .taxonomy({ run, thresholds: thresholds.get(), filter: NO_FILTER, limit: Number.MAX_SAFE_INTEGER, fresh: true });
  return new Map(
    [...Map.groupBy(rows, ({ verdict }) => verdict)].map(([verdict, cases]) => [
      verdict,
      new Set(cases.flatMap(({ message }) => message ?? [])),
    ]),
  );
}

/** Returns the reader of a transcript's store. @throws C3Error('store') if the store no longer exists */
function requireTranscriptStore({ store }: Pick<Services, 'store'>): StoreReader {
  const reader = store.reader();
  if (reader === null) {
    throw new C3Error('store', 'The store of this transcript no longer exists: open a transcript from the Runs view.');
  }
  return reader;
}
