/** The extension's own read-only connection to the store, opened when there is one, and word of every change to it. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { EventEmitter, RelativePattern, Uri, workspace, type FileSystemWatcher } from 'vscode';
import { examineApart } from '../../client/examineStore.ts';
import { C3Error } from '../../shared/errors.ts';
import { openStoreForReading, type StoreReader } from '../../store/read/reader.ts';
import { SETTINGS, storePath } from '../common/settings.ts';
import { Disposables } from '../common/disposables.ts';
import { Throttle } from '../common/throttle.ts';

/** Views are drawn again at most this often while a run writes. */
const REFRESH_MILLISECONDS = 1000;
/** A store of a folder that is not trusted is given up after this long. */
const EXAMINE_MILLISECONDS = 60_000;

/** The store of a folder that is not trusted is not known to be whole yet. */
export class StoreExaminedError extends C3Error {
  constructor(path: string) {
    super('store', `The store ${path} is examined first, because this folder is not trusted.`, {
      code: 'storeExamined',
    });
  }
}

/** One look at a store, by the file that it was. */
interface Examination {
  readonly file: string;
  /** Null for a store that is whole; undefined while that is not known. */
  readonly problem: string | null | undefined;
}

export class StoreAccess {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly throttle = this.disposables.add(
    new Throttle(REFRESH_MILLISECONDS, () => {
      this.tell();
    }),
  );
  private readonly examiner: string;
  private examination: Examination | null = null;
  private open: StoreReader | null = null;
  private watcher: FileSystemWatcher | null = null;
  private watched: string | null = null;
  /** What the store held when it was opened, or the views were last told. */
  private told: string | null = null;
  /** Fires, not too often, when the store may hold something new. */
  readonly onDidChange = this.changed.event;

  /** @param examiner the program that examines the store of a folder that is not trusted */
  constructor(examiner: string) {
    this.examiner = examiner;
    this.disposables.add(
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(SETTINGS)) {
          this.reopen();
        }
      }),
    );
    this.disposables.add(
      workspace.onDidChangeWorkspaceFolders(() => {
        this.reopen();
      }),
    );
    this.disposables.add(
      workspace.onDidGrantWorkspaceTrust(() => {
        this.touch();
      }),
    );
    this.watch();
  }

  /**
   * The reader; null when there is no store yet or no folder is open.
   * @throws C3Error('store') when the file is there and cannot be used; StoreExaminedError while that is being found
   *   out
   */
  reader(): StoreReader | null {
    const path = storePath();
    // The file may have been deleted or replaced from outside; a reader of the old one would show what is gone.
    if (path === null || !existsSync(path)) {
      this.close();
      return null;
    }
    if (this.open === null) {
      if (!workspace.isTrusted) {
        this.requireWhole(path);
      }
      this.open = openStoreForReading(path);
      this.told = this.version();
    }
    return this.open;
  }

  /**
   * Pages made by hand could keep a reader, and the editor with it, busy for ever: they are looked at elsewhere before.
   * @throws C3Error('store')
   */
  private requireWhole(path: string): void {
    const { dev, ino } = statSync(path);
    const file = `${path} ${String(dev)} ${String(ino)}`;
    if (this.examination?.file !== file) {
      this.examination = { file, problem: undefined };
      void examineApart(path, false, this.examiner, EXAMINE_MILLISECONDS).then(({ findings: [problem = null] }) => {
        if (this.examination?.file !== file) {
          return;
        }
        this.examination = { file, problem };
        this.changed.fire();
      });
    }
    const { problem } = this.examination;
    if (problem === undefined) {
      throw new StoreExaminedError(path);
    }
    if (problem !== null) {
      throw new C3Error(
        'store',
        `This folder is not trusted, and its store is damaged, so it is not opened: ${problem} Run \`c3 doctor\` for details.`,
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

  private tell(): void {
    this.told = this.version();
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
      const version = /(?:-wal|-shm|\.seal)$/u.test(uri.fsPath) ? this.version() : null;
      if (version === null || version !== this.told) {
        this.touch();
      }
    };
    this.watcher.onDidChange(look);
    this.watcher.onDidCreate(look);
    this.watcher.onDidDelete((uri) => {
      if (uri.fsPath === path) {
        this.close();
      }
      this.touch();
    });
  }
}
