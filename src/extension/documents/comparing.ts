/** Compares two branches: the user marks one message and chooses another, as with "Select for Compare". */

import { commands, EventEmitter, ViewColumn, window } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { compareBranches, type Comparison } from '../../shared/transcript/comparison.ts';
import { Disposables } from '../common/disposables.ts';
import type { StoreAccess } from '../engine/storeAccess.ts';
import { branchOf } from './branchOf.ts';
import { createDocumentUri } from './documents.ts';

export class Comparing {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<number | null>());
  private readonly store: StoreAccess;
  private mark: number | null = null;
  /** Fires with the marked message, or null. */
  readonly onDidMark = this.changed.event;

  constructor(store: StoreAccess) {
    this.store = store;
  }

  /** The marked message, or null. */
  get marked(): number | null {
    return this.mark;
  }

  /** Marks a message for comparison. Null removes the mark. */
  select(message: number | null): void {
    this.mark = message;
    void commands.executeCommand('setContext', 'c3.comparisonMarked', message !== null);
    this.changed.fire(message);
  }

  /**
   * Marks a message if none is marked, or removes its mark. If another message is marked, removes that
   * mark and returns the pair to compare.
   */
  choose(message: number): { readonly left: number; readonly right: number } | null {
    const left = this.mark;
    if (left === null || left === message) {
      this.select(left === message ? null : message);
      return null;
    }
    this.select(null);
    return { left, right: message };
  }

  /** @throws C3Error if one of the messages is not in the store */
  compare(left: number, right: number): Comparison {
    const reader = this.store.reader();
    if (reader === null) {
      throw new C3Error('store', 'There is no store yet, so there are no messages to compare.');
    }
    return compareBranches(branchOf(reader, left), branchOf(reader, right));
  }

  /** Shows two branches in the diff editor. */
  async openDiff(left: number, right: number): Promise<void> {
    const { left: one, right: other } = this.compare(left, right);
    await commands.executeCommand(
      'vscode.diff',
      createDocumentUri('branch', left, one.title),
      createDocumentUri('branch', right, other.title),
      `${one.title} ↔ ${other.title}`,
      { preview: true, viewColumn: ViewColumn.Active },
    );
  }

  /** Shows the context of a message with its token boundaries. */
  async openContext(message: number, role: string): Promise<void> {
    await window.showTextDocument(createDocumentUri('context', message, `model input of ${role}, message ${message}`), {
      preview: true,
    });
  }

  dispose(): void {
    this.disposables.dispose();
  }
}
