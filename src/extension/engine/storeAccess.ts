/** The extension's read-only connection to the store, with an event for changes of the store. */

import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { EventEmitter, RelativePattern, Uri, workspace, type FileSystemWatcher } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { openStoreForReading, type StoreReader } from '../../store/read/reader.ts';
import { Disposables } from '../common/disposables.ts';
import { SETTINGS, findStorePath } from '../common/settings.ts';
import { Throttle } from '../common/throttle.ts';
import { StoreGate, type StampKeeper } from './storeGate.ts';

/** Minimum time between two updates of the views while a run writes. */
const REFRESH_MILLISECONDS = 1000;
/**
 * Interval at which the store is polled, besides the file events of VS Code. Those begin some seconds
 * late for a new folder, and miss changes that other machines make on a network drive.
 */
const LOOK_MILLISECONDS = 2000;

export class StoreAccess {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly throttle = this.disposables.add(new Throttle(REFRESH_MILLISECONDS, () => this.publish()));
  private readonly gate: StoreGate;
  /** True if a caller got no reader because the store was not examined yet. */
  private missed = false;
  private open: StoreReader | null = null;
  /** The identity of the open file. */
  private opened: string | null = null;
  private watcher: FileSystemWatcher | null = null;
  private watched: string | null = null;
  /** The version of the store when it was opened or the views were last updated. */
  private published: string | null = null;
  /** True if the store existed at the last poll. */
  private there = false;
  /** Fires at a limited rate when the store may have changed. */
  readonly onDidChange = this.changed.event;

  /**
   * @param examiner path of the program that examines an unknown store
   * @param keeper storage for the result, for the next window
   */
  constructor(examiner: string, keeper: StampKeeper) {
    this.gate = new StoreGate(examiner, keeper);
    this.disposables.add(
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(SETTINGS)) {
          this.reopen();
        }
      }),
    );
    this.disposables.add(workspace.onDidChangeWorkspaceFolders(() => this.reopen()));
    this.disposables.add(workspace.onDidGrantWorkspaceTrust(() => this.touch()));
    this.watch();
    const looking = setInterval(() => this.look(), LOOK_MILLISECONDS);
    this.disposables.add({ dispose: () => clearInterval(looking) });
  }

  /**
   * Returns the reader. Returns null if there is no store, no folder is open, or the store is still
   * being examined (see `pending`).
   * @throws C3Error('store') if the file exists and cannot be used
   */
  reader(): StoreReader | null {
    const path = findStorePath();
    const found = path === null ? null : this.gate.check(path, workspace.isTrusted);
    // If the file was deleted or replaced, a reader of the old one would show data that no longer exists.
    if (path === null || found === null || found.file !== this.opened) {
      this.close();
    }
    if (path === null || found === null) {
      return null;
    }
    if (this.open === null) {
      if (found.fault === undefined) {
        this.missed = true;
        void this.pending();
        return null;
      }
      this.requireWhole();
      this.open = openStoreForReading(path);
      this.opened = found.file;
      this.published = this.version();
    }
    return this.open;
  }

  /** Returns a promise for the end of the store's examination, or null. It never rejects. */
  pending(): Promise<void> | null {
    const path = findStorePath();
    const found = path === null ? null : this.gate.check(path, workspace.isTrusted);
    if (found === null || found.fault !== undefined) {
      return null;
    }
    return found.known.then(() => {
      if (this.missed) {
        this.missed = false;
        this.publish();
      }
    });
  }

  /**
   * Refuses a damaged store; in a trusted folder, only damage that makes reading endless counts. A
   * store that is still being examined passes.
   * @throws C3Error('store') if it is damaged
   */
  requireWhole(): void {
    const path = findStorePath();
    const fault = path === null ? null : this.gate.check(path, workspace.isTrusted)?.fault;
    if (path !== null && typeof fault === 'string') {
      throw new C3Error(
        'store',
        workspace.isTrusted
          ? `The store ${path} is damaged, so it is not opened: ${fault} Run \`c3 doctor\` for details.`
          : `This folder is not trusted, and its store is damaged, so it is not opened: ${fault} Run \`c3 doctor\` for details.`,
      );
    }
  }

  /** Announces a change of the store. */
  touch(): void {
    this.throttle.trigger();
  }

  dispose(): void {
    this.close();
    this.watcher?.dispose();
    this.disposables.dispose();
  }

  private publish(): void {
    if (this.pending() !== null) {
      this.missed = true;
      return;
    }
    this.published = this.version();
    this.changed.fire();
  }

  /** Returns the version that the open reader sees, or null if none is open or it cannot be read. */
  private version(): string | null {
    try {
      return this.open?.version() ?? null;
    } catch {
      return null;
    }
  }

  private reopen(): void {
    this.close();
    this.watch();
    this.touch();
  }

  private close(): void {
    this.open?.close();
    this.open = null;
    this.opened = null;
  }

  /** Polls for changes that no file event reported. */
  private look(): void {
    const path = findStorePath();
    const there = path !== null && existsSync(path);
    const appeared = there && !this.there;
    this.there = there;
    if (this.open !== null && this.version() !== this.published) {
      this.gate.remember(this.open.path);
      this.touch();
    } else if (appeared && this.open === null) {
      this.touch();
    }
  }

  /** Watches the files of the store, since the command line and other windows write them too. */
  private watch(): void {
    const path = findStorePath();
    if (path === this.watched) {
      return;
    }
    this.watcher?.dispose();
    this.watched = path;
    this.watcher = null;
    if (path === null) {
      return;
    }
    this.watcher = workspace.createFileSystemWatcher(
      new RelativePattern(Uri.file(dirname(path)), `${basename(path)}*`),
    );
    // Reading a store also writes files beside it. An update without a change would close the menu of a
    // row that the user has open.
    const look = (uri: Uri): void => {
      // A fixed reader does not follow changes, and would take a half-written change for damage.
      if (this.open?.fixed === true) {
        this.close();
      }
      if (this.open !== null) {
        this.gate.remember(this.open.path);
      }
      const version = /(?:-wal|-shm|\.seal)$/u.test(uri.fsPath) ? this.version() : null;
      if (version === null || version !== this.published) {
        this.touch();
      }
    };
    this.watcher.onDidChange(look);
    this.watcher.onDidCreate(look);
    this.watcher.onDidDelete((uri) => {
      if (uri.fsPath === path) {
        this.close();
        this.gate.forget();
      } else if (this.open !== null) {
        this.gate.remember(this.open.path);
      }
      this.touch();
    });
  }
}
