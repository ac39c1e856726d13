/** Many puzzles whose solutions are changed. */

import { changedPuzzles } from '../../../unit/tasks/changedPuzzles.ts';

changedPuzzles(500);
