/** Read-only documents of the scheme c3: branches for the diff editor, and contexts as the model saw them. Read anew from the store whenever they are opened. */
import { Uri, workspace, type TextDocumentContentProvider } from 'vscode';
import { C3Error, messageOf } from '../shared/errors.ts';
import { branchOf, branchText } from './branchOf.ts';
import { contextDocument } from './contextDocument.ts';
import type { Disposable } from './disposables.ts';
import type { Engine } from './engine.ts';
import type { StoreAccess } from './storeAccess.ts';

const SCHEME = 'c3';

type DocumentKind = 'branch' | 'context';

/** The address of a document; its last part is what its tab is called. */
export function documentUri(kind: DocumentKind, message: number, name: string): Uri {
  return Uri.from({ scheme: SCHEME, path: `/${kind}/${String(message)}/${name}` });
}

class Documents implements TextDocumentContentProvider {
  private readonly store: StoreAccess;
  private readonly engine: Engine;

  constructor(store: StoreAccess, engine: Engine) {
    this.store = store;
    this.engine = engine;
  }

  /** A document that cannot be had says why. */
  async provideTextDocumentContent(uri: Uri): Promise<string> {
    try {
      const [, kind, number] = /^\/(branch|context)\/(\d+)\//u.exec(uri.path) ?? [];
      if (kind === undefined || number === undefined) throw new C3Error('input', `There is no document ${uri.toString()}.`);
      return await (kind === 'branch' ? this.branch(Number(number)) : this.context(Number(number)));
    } catch (error) {
      return messageOf(error);
    }
  }

  private branch(message: number): string {
    return branchText(branchOf(this.reader(), message));
  }

  private async context(message: number): Promise<string> {
    const decision = this.reader().decision(message);
    const reason = this.engine.unavailable();
    if (reason !== null) return contextDocument(decision, reason);
    try {
      return contextDocument(decision, await this.engine.client().contextTokens(message));
    } catch (error) {
      return contextDocument(decision, messageOf(error));
    }
  }

  private reader(): ReturnType<StoreAccess['reader']> & object {
    const reader = this.store.reader();
    if (reader === null) throw new C3Error('store', 'The store of this document is gone.');
    return reader;
  }
}

/** Registers the documents. */
export function registerDocuments(store: StoreAccess, engine: Engine): Disposable {
  return workspace.registerTextDocumentContentProvider(SCHEME, new Documents(store, engine));
}
