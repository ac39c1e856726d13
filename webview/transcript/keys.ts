/** The keys of the transcript tree as data; the sheet that explains them is made from the same list. */

export type TreeCommand = 'next' | 'previous' | 'nextPage' | 'previousPage' | 'first' | 'last' | 'open' | 'close' | 'select' | 'replay' | 'verify' | 'report' | 'link' | 'keys';

interface KeyBinding {
  readonly command: TreeCommand;
  readonly keys: readonly string[];
  readonly shown: string;
  readonly words: string;
}

export const TREE_KEYS: readonly KeyBinding[] = [
  { command: 'next', keys: ['ArrowDown'], shown: '↓', words: 'Next message' },
  { command: 'previous', keys: ['ArrowUp'], shown: '↑', words: 'Previous message' },
  { command: 'open', keys: ['ArrowRight'], shown: '→', words: 'Unfold, or go to the first reply' },
  { command: 'close', keys: ['ArrowLeft'], shown: '←', words: 'Fold, or go to the message above' },
  { command: 'nextPage', keys: ['PageDown'], shown: 'Page Down', words: 'One page on' },
  { command: 'previousPage', keys: ['PageUp'], shown: 'Page Up', words: 'One page back' },
  { command: 'first', keys: ['Home'], shown: 'Home', words: 'Question' },
  { command: 'last', keys: ['End'], shown: 'End', words: 'Last message' },
  { command: 'select', keys: ['Enter', ' '], shown: 'Enter', words: 'Show the message and its alternatives' },
  { command: 'replay', keys: ['r'], shown: 'R', words: 'Replay alternatives of the message' },
  { command: 'verify', keys: ['v'], shown: 'V', words: 'Verify the replays of the message: execute them again and compare' },
  { command: 'report', keys: ['e'], shown: 'E', words: 'Export a report of the message' },
  { command: 'link', keys: ['l'], shown: 'L', words: 'Copy a link to the message' },
  { command: 'keys', keys: ['?'], shown: '?', words: 'Show or hide these keys' },
];

/** The command of a key press without Ctrl, Alt or Meta; undefined when the tree does not use the key. */
export function commandOf(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey'>): TreeCommand | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey) return undefined;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return TREE_KEYS.find((binding) => binding.keys.includes(key))?.command;
}
