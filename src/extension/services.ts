/** The objects that the parts of the extension share. */

import type { Uri } from 'vscode';
import type { Log } from './common/log.ts';
import type { RecordedPrograms } from './common/programs.ts';
import type { Comparing } from './documents/comparing.ts';
import type { Engine } from './engine/engine.ts';
import type { StoreAccess } from './engine/storeAccess.ts';
import type { Verifier } from './engine/verifier.ts';
import type { ModelFolders } from './model/modelFolders.ts';
import type { RunController } from './run/runController.ts';
import type { RememberedThresholds } from './taxonomy/taxonomyThresholds.ts';

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
  readonly programs: RecordedPrograms;
}
