/** A read-only file system without folders, for documents of the extension. */

import { FileSystemError, type Uri } from 'vscode';
import { Disposables, type Disposable } from '../common/disposables.ts';

export abstract class FlatFiles {
  protected readonly disposables = new Disposables();

  watch(): Disposable {
    return { dispose: () => undefined };
  }

  readDirectory(): never[] {
    return [];
  }

  createDirectory(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  delete(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  rename(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    this.disposables.dispose();
  }
}
