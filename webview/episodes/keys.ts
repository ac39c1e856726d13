/** The key bindings of the grid. The key sheet is built from the same list. */
export type GridCommand =
  | 'next'
  | 'previous'
  | 'nextPage'
  | 'previousPage'
  | 'first'
  | 'last'
  | 'open'
  | 'openBeside'
  | 'search'
  | 'filter'
  | 'sort'
  | 'details'
  | 'dashboard'
  | 'taxonomy'
  | 'keys';

interface KeyBinding {
  readonly command: GridCommand;
  readonly keys: readonly string[];
  readonly shift?: boolean;
  readonly shown: string;
  readonly words: string;
}

export const GRID_KEYS: readonly KeyBinding[] = [
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

/** Commands that move to another row. */
export type MoveCommand = Extract<GridCommand, 'next' | 'previous' | 'nextPage' | 'previousPage' | 'first' | 'last'>;

/** Returns the row to which a command moves from the focused row. @param page number of rows in a page */
export function rowAfter(command: MoveCommand, from: number, page: number, last: number): number {
  switch (command) {
    case 'next':
      return from + 1;
    case 'previous':
      return from - 1;
    case 'nextPage':
      return from + page;
    case 'previousPage':
      return from - page;
    case 'first':
      return 0;
    case 'last':
      return last;
  }
}

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey' | 'shiftKey'>;

/** Returns the command of a key press without Ctrl, Alt or Meta, or undefined if the grid does not use the key. */
export function commandOf(event: Press): GridCommand | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey) {
    return undefined;
  }
  return GRID_KEYS.find(({ keys, shift = false }) => keys.includes(event.key) && (!shift || event.shiftKey))?.command;
}
