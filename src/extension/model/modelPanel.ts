/** The model panel: one panel that shows the last chosen folder. */

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type WebviewPanel, commands, Uri, window, workspace, type QuickPickItem } from 'vscode';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import type { SelfTestProgress } from '../../shared/models.ts';
import {
  isModelState,
  MODEL_PANEL,
  type ModelFromHost,
  DEFAULT_MODEL_SETTINGS,
  type ModelSettings,
} from '../../shared/protocols/modelProtocol.ts';
import { withoutLinks } from '../common/plainText.ts';
import { runCommand } from '../common/runCommand.ts';
import { Throttle } from '../common/throttle.ts';
import type { Services } from '../services.ts';
import { askForConfirmation } from '../webview/confirm.ts';
import type { EventsOf, Page, SessionOf } from '../webview/panelSession.ts';
import { SinglePanel } from '../webview/panels.ts';
import { InspectedFolder, type ModelEngine } from './inspectedFolder.ts';
import { toConfigurationName, createConfigurationText, findFreeName } from './modelConfiguration.ts';
import type { ModelFolders } from './modelFolders.ts';

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

  /** Shows a folder and keeps the settings. */
  open(folder: string): void {
    this.panel.open({ folder, settings: null });
  }

  /**
   * Restores the panel after a reload. Closes it if its state, which the page writes, is invalid or
   * names a folder that the user did not choose.
   */
  restore(tab: WebviewPanel, state: unknown): void {
    this.panel.restore(tab, (wanted) =>
      isModelState(state) && (wanted !== null || this.folders.wasChosen(state.folder))
        ? { folder: wanted?.folder ?? state.folder, settings: state.settings }
        : wanted,
    );
  }
}

// The content of the model panel

/** Minimum time between two updates of the page. */
const TELL_MILLISECONDS = 100;

/** The arguments with which the panel is opened. */
interface ModelOpening {
  /** Absolute path. */
  readonly folder: string;
  /** The settings, or null to keep those of the previous folder. */
  readonly settings: ModelSettings | null;
}

interface ModelSurroundings {
  /** Called for each request. Throws if there can be no engine, with the reason. */
  readonly engine: () => ModelEngine;
  /** Subscribes to the progress of self-tests. */
  readonly onProgress: (listener: (folder: string, progress: SelfTestProgress) => void) => { dispose(): void };
  /** Called when another folder is shown. */
  readonly shown: (folder: string) => void;
  /** Called when the folder holds a usable model. */
  readonly found: (folder: string) => void;
  readonly command: (name: 'chooseModel') => Promise<void>;
  /** Writes a configuration with the model and the settings. */
  readonly use: (folder: string, settings: ModelSettings) => Promise<void>;
  readonly log: { error(message: string): void };
}

class ModelSession implements SessionOf<typeof MODEL_PANEL> {
  private readonly page: Page<ModelFromHost>;
  readonly failsBeside = true;
  private readonly around: ModelSurroundings;
  private readonly throttle = new Throttle(TELL_MILLISECONDS, () => this.publish());
  private folder: InspectedFolder;
  private readonly watching: { dispose(): void };
  readonly events: EventsOf<typeof MODEL_PANEL> = {
    ready: () => this.publish(),
    chooseFolder: () => this.around.command('chooseModel'),
    readAgain: () => this.folder.read(),
    settings: ({ settings }) => this.folder.change(settings),
    test: () => this.folder.runTest(),
    cancelTest: () => this.folder.cancelTest(),
    use: () => {
      const { folder, settings } = this.folder.snapshot;
      return this.around.use(folder, settings);
    },
  };

  constructor({ folder, settings }: ModelOpening, page: Page<ModelFromHost>, around: ModelSurroundings) {
    this.page = page;
    this.around = around;
    this.folder = this.inspected(folder, settings ?? DEFAULT_MODEL_SETTINGS);
    this.watching = around.onProgress((of, progress) => this.folder.progress(of, progress));
    this.begin();
  }

  /** Shows another folder. Null settings keep those of the previous folder. */
  show({ folder, settings }: ModelOpening): void {
    this.folder.dispose();
    this.folder = this.inspected(folder, settings ?? this.folder.snapshot.settings);
    this.begin();
  }

  dispose(): void {
    this.watching.dispose();
    this.throttle.dispose();
    this.folder.dispose();
  }

  private begin(): void {
    this.around.shown(this.folder.snapshot.folder);
    void this.folder.read();
  }

  private inspected(folder: string, settings: ModelSettings): InspectedFolder {
    const { around, throttle } = this;
    return new InspectedFolder(folder, settings, around.engine, {
      changed: () => throttle.trigger(),
      found: around.found,
      failed: (message) => around.log.error(message),
    });
  }

  private publish(): void {
    this.page.post({ type: 'snapshot', snapshot: this.folder.snapshot });
  }
}

// "Use for the next run": writes a configuration after a confirmation, opens it and offers to start it

interface ExistsItem extends QuickPickItem {
  readonly answer: 'open' | 'beside' | 'replace';
}

/** @throws C3Error('input') if no folder is open or the file cannot be written */
async function useModel(folder: string, settings: ModelSettings): Promise<void> {
  const home = workspace.workspaceFolders?.[0]?.uri;
  if (home?.scheme !== 'file') {
    throw new C3Error('input', 'Open a folder first: the configuration of the run is written there.');
  }
  const name = await provideConfiguration(
    home.fsPath,
    toConfigurationName(folder),
    createConfigurationText(folder, home.fsPath, settings),
  );
  if (name === undefined) {
    return;
  }
  const file = Uri.file(join(home.fsPath, name));
  await window.showTextDocument(await workspace.openTextDocument(file), { preview: false });
  const start = 'Start run';
  if (
    (await window.showInformationMessage(withoutLinks(`${name} describes a run with this model.`), start)) === start
  ) {
    await commands.executeCommand('c3.startRun', file);
  }
}

/**
 * Writes the text to a file, or lets the user choose if the file exists with another text.
 * @returns the name of the file to use, or undefined if the user canceled
 */
async function provideConfiguration(home: string, name: string, text: string): Promise<string | undefined> {
  if (
    !existsSync(join(home, name)) &&
    !(await askForConfirmation(`Write ${name} into this folder? It describes a run with this model.`, 'Write', text))
  ) {
    return undefined;
  }
  if (await writeConfigurationFile(join(home, name), text, false)) {
    return name;
  }
  if ((await readFile(join(home, name), 'utf8').catch(() => null)) === text) {
    return name;
  }
  const other = findFreeName(name, (candidate) => existsSync(join(home, candidate)));
  const items: readonly ExistsItem[] = [
    { label: `Open ${name}`, description: 'unchanged', answer: 'open' },
    { label: `Write ${other}`, description: 'as a second file', answer: 'beside' },
    { label: `Replace ${name}`, description: 'its current text is lost', answer: 'replace' },
  ];
  const chosen = await window.showQuickPick(items, {
    title: 'Use for the next run',
    placeHolder: `${name} already exists with other text.`,
  });
  switch (chosen?.answer) {
    case undefined:
      return undefined;
    case 'open':
      return name;
    case 'beside':
      if (!(await writeConfigurationFile(join(home, other), text, false))) {
        throw new C3Error('input', `${join(home, other)} was created in the meantime; try again.`);
      }
      return other;
    case 'replace':
      await writeConfigurationFile(join(home, name), text, true);
      return name;
  }
}

/** Writes a file. @returns false, without a change, if it exists and must not be replaced */
async function writeConfigurationFile(path: string, text: string, replace: boolean): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: replace ? 'w' : 'wx' });
    return true;
  } catch (error) {
    if (!replace && typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST') {
      return false;
    }
    throw new C3Error('input', `Cannot write ${path}: ${toErrorMessage(error)}; choose a folder that is writable.`, {
      cause: error,
    });
  }
}
