/** What the grid of problems asks of its panel. */
import type { ProblemSort } from '../../src/domain/problem.ts';
import type { ShownProblem } from '../../src/shared/protocols/episodesProtocol.ts';
import type { GridCommand, MoveCommand } from './keys.ts';

export interface GridEvents {
  ask(revision: number, offset: number): void;
  sort(sort: ProblemSort): void;
  open(row: ShownProblem, beside: boolean): void;
  /** A problem is selected of which only the host knows where it is now. */
  choose(problem: number): void;
  /** Another row has the keyboard, or its data came. */
  moved(row: ShownProblem | null): void;
  /** All rows in sight are drawn, and are those of the newest order. */
  placed(): void;
  command(command: Exclude<GridCommand, MoveCommand | 'open' | 'openBeside' | 'sort'>): void;
}
