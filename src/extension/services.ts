/** What the parts of the extension share. */
import type { Uri } from 'vscode';
import type { Comparing } from './comparing.ts';
import type { Engine } from './engine.ts';
import type { Log } from './log.ts';
import type { ModelFolders } from './modelFolders.ts';
import type { RunController } from './runController.ts';
import type { StoreAccess } from './storeAccess.ts';
import type { RememberedThresholds } from './taxonomyThresholds.ts';
import type { Verifier } from './verifier.ts';

export interface Services {
  readonly extensionUri: Uri;
  readonly log: Log;
  readonly store: StoreAccess;
  readonly engine: Engine;
  readonly runs: RunController;
  readonly verifier: Verifier;
  readonly comparing: Comparing;
  readonly modelFolders: ModelFolders;
  readonly thresholds: RememberedThresholds;
}
