/** The environments that a protocol may name. The table is their only list. */

import type { EnvironmentKind } from './kind.ts';
import { calculator } from './kinds/calculator.ts';
import { expertEdits, levelFeedback, levelPassed, passed, plain } from './kinds/external.ts';
import { feedback } from './kinds/feedback.ts';
import { join } from './kinds/join.ts';
import { last } from './kinds/last.ts';
import { referee } from './kinds/referee.ts';
import { vote } from './kinds/vote.ts';

export const ENVIRONMENT_KINDS: readonly EnvironmentKind[] = [
  feedback,
  calculator,
  vote,
  join,
  last,
  referee,
  levelFeedback,
  levelPassed,
  passed,
  plain,
  expertEdits,
];

const BY_NAME: ReadonlyMap<string, EnvironmentKind> = new Map(ENVIRONMENT_KINDS.map((kind) => [kind.name, kind]));

/** Returns the environment with a name, or undefined if there is none. */
export const findEnvironmentKind = (name: string): EnvironmentKind | undefined => BY_NAME.get(name);
