/** The extension's own read-only connection to the store, opened when there is one, and word of every change to it. */
import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { EventEmitter, RelativePattern, Uri, workspace, type FileSystemWatcher } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { openStoreForReading, type StoreReader } from '../../store/read/reader.ts';
import { Disposables } from '../common/disposables.ts';
import { SETTINGS, storePath } from '../common/settings.ts';
import { Throttle } from '../common/throttle.ts';
import { StoreGate, type StampKeeper } from './storeGate.ts';

/** Views are drawn again at most this often while a run writes. */
const REFRESH_MILLISECONDS = 1000;
/**
 * The store is looked at this often beside what VS Code tells of its files: it begins to watch a new folder only after
 * some seconds, and hears nothing of what other machines write on a network drive.
 */
const LOOK_MILLISECONDS = 2000;

export class StoreAccess {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly throttle = this.disposables.add(new Throttle(REFRESH_MILLISECONDS, () => this.publish()));
  private readonly gate: StoreGate;
  /** Whether somebody was given nothing because the store was not known yet. */
  private missed = false;
  private open: StoreReader | null = null;
  /** The file that is open. */
  private opened: string | null = null;
  private watcher: FileSystemWatcher | null = null;
  private watched: string | null = null;
  /** What the store held when it was opened, or the views were last updated. */
  private published: string | null = null;
  /** Whether there was a store when it was last looked for. */
  private there = false;
  /** Fires, not too often, when the store may hold something new. */
  readonly onDidChange = this.changed.event;

  /**
   * @param examiner the program that examines a store that is not known
   * @param keeper keeps what was found for the next window
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
   * The reader; null when there is no store yet, no folder is open, or it is not known yet whether the store can be
   * read: `pending` waits for that.
   * @throws C3Error('store') when the file is there and cannot be used
   */
  reader(): StoreReader | null {
    const path = storePath();
    const found = path === null ? null : this.gate.check(path, workspace.isTrusted);
    // The file may have been deleted or replaced from outside; a reader of the old one would show what is gone.
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

  /**
   * What to wait for before the store is read: whether reading it ends is being found out. Null where nothing is; it
   * never fails.
   */
  pending(): Promise<void> | null {
    const path = storePath();
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
   * Refuses a store whose reader could be kept busy for ever; one that is not known yet passes.
   * @throws C3Error('store')
   */
  requireWhole(): void {
    const path = storePath();
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

  /** Says that something was written. */
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

  /** The state that the open reader sees; null where none is open, or it cannot be read. */
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

  /** Finds what came without word of it. */
  private look(): void {
    const path = storePath();
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

  /** Other processes write too: the command line, or the engine of another window. */
  private watch(): void {
    const path = storePath();
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
    // Reading a store writes files beside it, too: views drawn anew for nothing would take the menu of a row from under
    // the pointer.
    const look = (uri: Uri): void => {
      // Such a reader sees no change, and half of one would be damage.
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
