/**
 * Read-only documents of the scheme `c3`: branches for the diff editor, model inputs, and documents of
 * other parts. They are read anew when opened, and are files of a file system so that the editor
 * restores their tabs.
 */

import {
  EventEmitter,
  FileSystemError,
  FileType,
  MarkdownString,
  Uri,
  workspace,
  type FileChangeEvent,
  type FileStat,
  type FileSystemProvider,
} from 'vscode';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { Disposables, type Disposable } from '../common/disposables.ts';
import type { Engine } from '../engine/engine.ts';
import type { StoreAccess } from '../engine/storeAccess.ts';
import { branchOf, formatBranch } from './branchOf.ts';
import { formatContextDocument } from './contextDocument.ts';
import { FlatFiles } from './flatFiles.ts';

const SCHEME = 'c3';

type DocumentKind = 'branch' | 'context';

/** Returns the address of a document. Its last part is the title of the tab. */
export function createDocumentUri(kind: DocumentKind, message: number, name: string): Uri {
  return Uri.from({ scheme: SCHEME, path: `/${kind}/${message}/${name.replaceAll(/[\\/]/gu, '\u00b7')}` });
}

/** Returns a document of another part of the extension. Its argument is the address after the kind. */
type Source = (path: string) => string | Promise<string>;
type Sources = Readonly<Record<string, Source>>;

/** Returns the address of a document of another part. @param path its last part is the title of the tab */
export const createSourceUri = (kind: string, path: string): Uri =>
  Uri.from({ scheme: SCHEME, path: `/${kind}/${path}` });

export class Documents extends FlatFiles implements FileSystemProvider {
  private readonly changed = this.disposables.add(new EventEmitter<FileChangeEvent[]>());
  private readonly store: Pick<StoreAccess, 'reader' | 'pending'>;
  private readonly engine: Pick<Engine, 'unavailable' | 'client'>;
  private readonly sources: Sources;
  /** Never fires: recorded text does not change. */
  readonly onDidChangeFile = this.changed.event;

  constructor(
    store: Pick<StoreAccess, 'reader' | 'pending'>,
    engine: Pick<Engine, 'unavailable' | 'client'>,
    sources: Sources = {},
  ) {
    super();
    this.store = store;
    this.engine = engine;
    this.sources = sources;
  }

  /** Returns a size of 0: the length of a document is known only when it is read. */
  stat(): FileStat {
    return { type: FileType.File, ctime: 0, mtime: 0, size: 0 };
  }

  /** Reads a document. One that cannot be read holds the reason. */
  async readFile(uri: Pick<Uri, 'path' | 'toString'>): Promise<Uint8Array> {
    // The byte order mark overrides the user's encoding with UTF-8. A zero byte would make the editor take
    // the file for a binary one.
    return new TextEncoder().encode(`\uFEFF${(await this.text(uri)).replaceAll('\0', '\u2400')}`);
  }

  private async text(uri: Pick<Uri, 'path' | 'toString'>): Promise<string> {
    try {
      const [, source = '', path = ''] = /^\/(\w+)\/(.+)$/su.exec(uri.path) ?? [];
      if (Object.hasOwn(this.sources, source)) {
        return (await this.sources[source]?.(path)) ?? '';
      }
      const [, kind, number] = /^\/(branch|context)\/(\d+)\//u.exec(uri.path) ?? [];
      if (kind === undefined || number === undefined) {
        throw new C3Error('input', `There is no document ${uri.toString()}.`);
      }
      await this.store.pending();
      return await (kind === 'branch' ? this.branch(Number(number)) : this.context(Number(number)));
    } catch (error) {
      return toErrorMessage(error);
    }
  }

  private branch(message: number): string {
    return formatBranch(branchOf(this.reader(), message));
  }

  private async context(message: number): Promise<string> {
    const said = this.reader().fullMessage(message);
    const reason = this.engine.unavailable();
    if (reason !== null) {
      return formatContextDocument(said, reason);
    }
    try {
      return formatContextDocument(said, await this.engine.client().contextTokens({ message }));
    } catch (error) {
      return formatContextDocument(said, toErrorMessage(error));
    }
  }

  private reader(): ReturnType<StoreAccess['reader']> & object {
    const reader = this.store.reader();
    if (reader === null) {
      throw new C3Error('store', 'The store of this document no longer exists.');
    }
    return reader;
  }

  writeFile(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }
}

/** Registers the documents. @param sources the documents of other parts, by kind */
export function registerDocuments(store: StoreAccess, engine: Engine, sources: Sources): Disposable {
  const documents = new Documents(store, engine, sources);
  const registered = new Disposables();
  registered.add(documents);
  registered.add(
    workspace.registerFileSystemProvider(SCHEME, documents, {
      isReadonly: new MarkdownString('Recorded text cannot be edited.'),
      isCaseSensitive: true,
    }),
  );
  return registered;
}
