/** The table of the evaluators that a configuration may name. */

import type { EvaluatorKind } from './kind.ts';
import { answer } from './kinds/answer.ts';
import { auto } from './kinds/auto.ts';
import { blocksworld } from './kinds/blocksworld.ts';
import { chain } from './kinds/chain.ts';
import { command } from './kinds/command.ts';
import { exact } from './kinds/exact.ts';
import { jsonSchema } from './kinds/jsonSchema.ts';
import { judge } from './kinds/judge.ts';
import { ladder } from './kinds/ladder.ts';
import { ladderExecuted } from './kinds/ladderExecuted.ts';
import { ladderPublished } from './kinds/ladderPublished.ts';
import { math } from './kinds/math.ts';
import { mathLenient } from './kinds/mathLenient.ts';
import { numbers } from './kinds/numbers.ts';
import { pattern } from './kinds/pattern.ts';
import { points } from './kinds/points.ts';
import { python } from './kinds/python.ts';
import { pythonFraction } from './kinds/pythonFraction.ts';
import { tolerance } from './kinds/tolerance.ts';
import { zebra } from './kinds/zebra.ts';
import { zebraCells } from './kinds/zebraCells.ts';

/** In the order in which they are listed to users. */
const TABLE = [
  auto,
  answer,
  exact,
  pattern,
  tolerance,
  jsonSchema,
  command,
  judge,
  points,
  chain,
  zebra,
  zebraCells,
  numbers,
  blocksworld,
  math,
  mathLenient,
  python,
  pythonFraction,
  ladder,
  ladderExecuted,
  ladderPublished,
] as const satisfies readonly EvaluatorKind[];

export type EvaluatorName = (typeof TABLE)[number]['name'];
type NamedKind = EvaluatorKind & { readonly name: EvaluatorName };
export const EVALUATOR_KINDS: readonly NamedKind[] = TABLE;

const BY_NAME: ReadonlyMap<string, NamedKind> = new Map(EVALUATOR_KINDS.map((kind) => [kind.name, kind]));

export function getEvaluatorKind(name: EvaluatorName): NamedKind {
  const kind = BY_NAME.get(name);
  if (kind === undefined) {
    throw new Error(`There is no evaluator named ${JSON.stringify(name)}.`);
  }
  return kind;
}
