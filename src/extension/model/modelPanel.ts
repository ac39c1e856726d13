/** The model panel: one panel, which shows the folder chosen last. */
import { basename } from 'node:path';
import type { WebviewPanel } from 'vscode';
import { isModelState, MODEL_PANEL, type ModelFromHost } from '../../shared/protocols/modelProtocol.ts';
import { runCommand } from '../common/runCommand.ts';
import type { Services } from '../services.ts';
import { SinglePanel } from '../webview/panels.ts';
import type { ModelFolders } from './modelFolders.ts';
import { ModelSession, type ModelOpening } from './modelSession.ts';
import { useModel } from './useModel.ts';

export class ModelPanel {
  private readonly folders: ModelFolders;
  private readonly panel: SinglePanel<typeof MODEL_PANEL, ModelFromHost, ModelOpening, ModelSession>;

  constructor(services: Services, folders: ModelFolders) {
    this.folders = folders;
    const { engine, log } = services;
    this.panel = new SinglePanel(
      MODEL_PANEL,
      services,
      (opening, page, tab) =>
        new ModelSession(opening, page, {
          engine: () => engine.client(),
          onProgress: (listener) => engine.onTestModelProgress(({ folder, progress }) => listener(folder, progress)),
          shown: (folder) => {
            tab.title = `Model ${basename(folder)}`;
          },
          found: (folder) => void folders.remember(folder),
          command: runCommand,
          use: useModel,
          log,
        }),
    );
  }

  /** Shows a folder; the settings of the one before stay. */
  open(folder: string): void {
    this.panel.open({ folder, settings: null });
  }

  /**
   * Brings the panel back after a reload; one whose state cannot be read, or names a folder that the user did not
   * choose, is closed: pages write states.
   */
  restore(tab: WebviewPanel, state: unknown): void {
    this.panel.restore(tab, (wanted) =>
      isModelState(state) && (wanted !== null || this.folders.wasChosen(state.folder))
        ? { folder: wanted?.folder ?? state.folder, settings: state.settings }
        : wanted,
    );
  }
}
