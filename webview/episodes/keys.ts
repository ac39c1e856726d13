/** The key bindings of the grid. The key sheet is built from the same list. */

import type { KeyBinding, MoveCommand } from '../common/keyBindings.ts';

export type GridCommand =
  | MoveCommand
  | 'open'
  | 'openBeside'
  | 'search'
  | 'filter'
  | 'sort'
  | 'details'
  | 'dashboard'
  | 'taxonomy'
  | 'keys';

export const GRID_KEYS: readonly KeyBinding<GridCommand>[] = [
  { command: 'next', keys: ['ArrowDown'], shown: '↓', words: 'Next problem' },
  { command: 'previous', keys: ['ArrowUp'], shown: '↑', words: 'Previous problem' },
  { command: 'nextPage', keys: ['PageDown'], shown: 'Page Down', words: 'One page down' },
  { command: 'previousPage', keys: ['PageUp'], shown: 'Page Up', words: 'One page up' },
  { command: 'first', keys: ['Home'], shown: 'Home', words: 'First problem' },
  { command: 'last', keys: ['End'], shown: 'End', words: 'Last problem' },
  {
    command: 'openBeside',
    keys: ['Enter'],
    shift: true,
    shown: 'Shift Enter',
    words: 'Open the transcript to the side',
  },
  { command: 'open', keys: ['Enter', ' '], shown: 'Enter', words: 'Open the transcript at the clearest message' },
  { command: 'search', keys: ['/'], shown: '/', words: 'Search questions, messages and metadata' },
  { command: 'filter', keys: ['f'], shown: 'F', words: 'Go to the filters' },
  {
    command: 'sort',
    keys: ['s'],
    shown: 'S',
    words: 'Go to the column headers: ← and → choose one, Enter sorts by it',
  },
  { command: 'details', keys: ['d'], shown: 'D', words: 'Show or hide the whole question below' },
  { command: 'dashboard', keys: ['g'], shown: 'G', words: 'Open the run dashboard' },
  { command: 'taxonomy', keys: ['t'], shown: 'T', words: 'Inspect the failure taxonomy' },
  { command: 'keys', keys: ['?'], shown: '?', words: 'Show or hide these keys' },
];
