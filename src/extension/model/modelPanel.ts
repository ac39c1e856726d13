/** The model panel: one panel, which shows the folder chosen last. */
import { basename } from 'node:path';
import { commands, ViewColumn, type WebviewPanel } from 'vscode';
import {
  DEFAULT_MODEL_SETTINGS,
  isModelState,
  MODEL_PANEL,
  type ModelFromHost,
  type ModelSettings,
  type ModelToHost,
} from '../../shared/protocols/modelProtocol.ts';
import { Disposables } from '../common/disposables.ts';
import type { ModelFolders } from './modelFolders.ts';
import { ModelSession } from './modelSession.ts';
import type { Services } from '../services.ts';
import { Throttle } from '../common/throttle.ts';
import { useModel } from './useModel.ts';
import { report } from '../common/report.ts';
import { createPanel, WebviewDoor } from '../webview/webviewDoor.ts';

/** Progress reaches the panel at most this often. */
const TELL_MILLISECONDS = 100;

export class ModelPanel {
  private readonly services: Services;
  private readonly folders: ModelFolders;
  private panel: WebviewPanel | null = null;
  private door: WebviewDoor<ModelToHost, ModelFromHost> | null = null;
  private session: ModelSession | null = null;
  private throttle: Throttle | null = null;

  constructor(services: Services, folders: ModelFolders) {
    this.services = services;
    this.folders = folders;
  }

  /** Shows a folder; the settings of the one before stay. */
  open(folder: string): void {
    const settings = this.session?.snapshot.settings ?? DEFAULT_MODEL_SETTINGS;
    if (this.panel === null) {
      const panel = createPanel(MODEL_PANEL, this.services, ViewColumn.Active);
      this.adopt(panel, folder, settings);
    } else {
      this.panel.reveal();
      this.begin(folder, settings);
    }
  }

  /**
   * Brings the panel back after a reload; one whose state cannot be read, or names a folder that the user did not
   * choose, is closed: pages write states.
   */
  restore(panel: WebviewPanel, state: unknown): void {
    if (this.panel !== null || !isModelState(state) || !this.folders.wasChosen(state.folder)) {
      panel.dispose();
    } else {
      this.adopt(panel, state.folder, state.settings);
    }
  }

  private adopt(panel: WebviewPanel, folder: string, settings: ModelSettings): void {
    const disposables = new Disposables();
    this.throttle = disposables.add(
      new Throttle(TELL_MILLISECONDS, () => {
        this.publish();
      }),
    );
    this.panel = panel;
    this.door = new WebviewDoor(panel, MODEL_PANEL, this.services, (message) => {
      this.receive(message);
    });
    disposables.add(
      this.services.engine.onTestModelProgress(({ folder: of, progress }) => {
        this.session?.progress(of, progress);
      }),
    );
    panel.onDidDispose(() => {
      disposables.dispose();
      this.session?.dispose();
      this.session = null;
      this.panel = null;
      this.door = null;
      this.throttle = null;
    });
    this.begin(folder, settings);
  }

  private begin(folder: string, settings: ModelSettings): void {
    this.session?.dispose();
    const session = new ModelSession(folder, settings, () => this.services.engine.client(), {
      changed: () => {
        this.throttle?.trigger();
      },
      found: (path) => {
        void this.folders.remember(path);
      },
      failed: (message) => {
        this.services.log.error(message);
      },
    });
    this.session = session;
    if (this.panel !== null) {
      this.panel.title = `Model ${basename(folder)}`;
    }
    void session.read();
  }

  private receive(message: ModelToHost): void {
    switch (message.type) {
      case 'ready':
        this.publish();
        break;
      case 'chooseFolder':
        void commands.executeCommand('c3.chooseModel');
        break;
      case 'readAgain':
        void this.session?.read();
        break;
      case 'settings':
        void this.session?.change(message.settings);
        break;
      case 'test':
        void this.session?.runTest();
        break;
      case 'cancelTest':
        this.session?.cancelTest();
        break;
      case 'use':
        void this.use();
        break;
    }
  }

  private async use(): Promise<void> {
    if (this.session === null) {
      return;
    }
    const { folder, settings } = this.session.snapshot;
    try {
      await useModel(folder, settings);
    } catch (error) {
      await report(error, this.services.log);
    }
  }

  private publish(): void {
    if (this.session !== null) {
      this.door?.post({ type: 'snapshot', snapshot: this.session.snapshot });
    }
  }
}
