/** The two teams of a trial: without a change, and with it. */

import type { Trial } from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { C3Error } from '../../shared/errors.ts';
import type { Held } from '../../shared/holds.ts';
import type { RunSession } from '../session/session.ts';
import type { TrialControl, Variant } from './comparePairs.ts';
import type { CostedSide } from './costs.ts';

/** Two teams that are planned, so that their cost is known before anything is opened. */
export interface TeamPair {
  /** What their costs depend on, the team without the change first. */
  readonly costed: readonly [CostedSide, CostedSide];
  /**
   * Loads their models, and connects them to their servers and programs, until they are disposed of.
   * @throws C3Error if a model cannot be loaded, or a server does not answer; CancelledError
   */
  readonly open: (session: RunSession, onRemark: TrialControl['onRemark']) => Promise<Held<OpenTeamPair>>;
}

/** Two teams that can play episodes. */
export interface OpenTeamPair {
  readonly variants: readonly [Variant, Variant];
  /** Scores the episodes of both. */
  readonly evaluator: Evaluator;
  /** Returns the first failure of a program, which left out its episode; absent without programs. */
  readonly failure?: () => C3Error | null;
  /** The servers of the change by role. */
  readonly servers?: Trial['servers'];
}
