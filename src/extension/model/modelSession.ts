/** What the model panel shows: what is known of the folder that was chosen last. */
import type { SelfTestProgress } from '../../shared/models.ts';
import {
  DEFAULT_MODEL_SETTINGS,
  type MODEL_PANEL,
  type ModelFromHost,
  type ModelSettings,
} from '../../shared/protocols/modelProtocol.ts';
import { Throttle } from '../common/throttle.ts';
import type { EventsOf, Page, SessionOf } from '../webview/panelSession.ts';
import { InspectedFolder, type ModelEngine } from './inspectedFolder.ts';

/** Progress reaches the page at most this often. */
const TELL_MILLISECONDS = 100;

/** What the panel is opened with. */
export interface ModelOpening {
  /** Absolute path. */
  readonly folder: string;
  /** Null: those of the folder before. */
  readonly settings: ModelSettings | null;
}

export interface ModelSurroundings {
  /** Asked for at each request; throws with the reason where there can be none. */
  readonly engine: () => ModelEngine;
  /** What self-tests show meanwhile. */
  readonly onProgress: (listener: (folder: string, progress: SelfTestProgress) => void) => { dispose(): void };
  /** Another folder is shown. */
  readonly shown: (folder: string) => void;
  /** The folder holds a model that can be used. */
  readonly found: (folder: string) => void;
  readonly command: (name: 'chooseModel') => Promise<void>;
  /** Writes what was chosen into a configuration. */
  readonly use: (folder: string, settings: ModelSettings) => Promise<void>;
  readonly log: { error(message: string): void };
}

export class ModelSession implements SessionOf<typeof MODEL_PANEL> {
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

  /** Shows another folder; without settings those of the one before stay. */
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
