/** The key bindings of the transcript tree. The key sheet is built from the same list. */

import { toSingleLine } from '../common/format.ts';
import {
  findBoundCommand,
  hasModifier,
  type KeyBinding,
  type KeyPress,
  type MoveCommand,
} from '../common/keyBindings.ts';

export type TreeCommand =
  | MoveCommand
  | 'open'
  | 'close'
  | 'select'
  | 'replay'
  | 'verify'
  | 'compare'
  | 'difference'
  | 'tokens'
  | 'costliest'
  | 'written'
  | 'search'
  | 'nextHit'
  | 'previousHit'
  | 'filter'
  | 'report'
  | 'link'
  | 'keys';

export const TREE_KEYS: readonly KeyBinding<TreeCommand>[] = [
  { command: 'next', keys: ['ArrowDown'], shown: '↓', words: 'Next message' },
  { command: 'previous', keys: ['ArrowUp'], shown: '↑', words: 'Previous message' },
  { command: 'open', keys: ['ArrowRight'], shown: '→', words: 'Expand, or go to the first reply' },
  { command: 'close', keys: ['ArrowLeft'], shown: '←', words: 'Collapse, or go to the message above' },
  { command: 'nextPage', keys: ['PageDown'], shown: 'Page Down', words: 'One page down' },
  { command: 'previousPage', keys: ['PageUp'], shown: 'Page Up', words: 'One page up' },
  { command: 'first', keys: ['Home'], shown: 'Home', words: 'Question' },
  { command: 'last', keys: ['End'], shown: 'End', words: 'Last message' },
  { command: 'select', keys: ['Enter', ' '], shown: 'Enter', words: 'Show the message and its alternatives' },
  { command: 'replay', keys: ['r'], shown: 'R', words: 'Replay alternatives of the message' },
  {
    command: 'verify',
    keys: ['v'],
    shown: 'V',
    words: 'Verify the replays of the message: execute them again and compare',
  },
  { command: 'report', keys: ['e'], shown: 'E', words: 'Export a report of the message' },
  { command: 'link', keys: ['l'], shown: 'L', words: 'Copy a link to the message' },
  {
    command: 'compare',
    keys: ['c'],
    shown: 'C',
    words: 'Select the message to compare; on another one, compare the two branches',
  },
  { command: 'difference', keys: ['d'], shown: 'D', words: 'Open the comparison in the diff editor' },
  { command: 'tokens', keys: ['t'], shown: 'T', words: 'Show the model input of the message, token by token' },
  { command: 'costliest', keys: ['w'], shown: 'W', words: 'Go to the lowest-credit message of this episode' },
  {
    command: 'written',
    keys: ['x'],
    shown: 'X',
    words: 'Show texts exactly as written, or as prose, code and mathematics',
  },
  { command: 'search', keys: ['/'], shown: '/', words: 'Search the messages' },
  { command: 'nextHit', keys: ['n'], shown: 'N', words: 'Next match of the search' },
  { command: 'previousHit', keys: ['p'], shown: 'P', words: 'Previous match of the search' },
  { command: 'filter', keys: ['f'], shown: 'F', words: 'Go to the filters' },
  { command: 'keys', keys: ['?'], shown: '?', words: 'Show or hide these keys' },
];

/** The entry of the key sheet for typing ahead, which has no key of its own. */
export const TYPE_AHEAD_KEYS = {
  shown: 'a b …',
  words:
    'Next visible message whose role or text starts with what you type; use Shift for a first letter that is a key',
} as const;

/** Returns the key of a command as it is shown to the user. */
export function findShownKey(command: TreeCommand): string {
  return TREE_KEYS.find((binding) => binding.command === command)?.shown ?? '';
}

/**
 * Returns the command of a key press without Ctrl, Alt or Meta, or undefined if the tree does not use
 * the key. A capital letter is no command: it begins typing ahead.
 */
export function findTreeCommand(event: KeyPress): TreeCommand | undefined {
  return findBoundCommand(TREE_KEYS, event);
}

/** Milliseconds after which a new letter begins a new word. */
const PAUSE = 800;

/** Collects the word that the user types ahead. */
export class TypeAhead {
  private typed = '';
  private last = -Infinity;

  /**
   * Returns true if a word has been begun and the key continues it. Letters continue it even if they are
   * commands. Signs that are commands (`/`, `?`) do not.
   */
  takes(event: KeyPress, now: number): boolean {
    return (
      this.typed !== '' &&
      now - this.last < PAUSE &&
      Array.from(event.key).length === 1 &&
      (/[\p{L} ]/u.test(event.key) || findTreeCommand(event) === undefined)
    );
  }

  /** Ends the word, because a key did something else. */
  end(): void {
    this.typed = '';
  }

  /** Adds a key. Returns the word so far in lower case, or null if the key is not a character. */
  add(event: KeyPress, now: number): string | null {
    if (hasModifier(event) || Array.from(event.key).length !== 1) {
      return null;
    }
    const goesOn = this.takes(event, now);
    if (event.key === ' ' && !goesOn) {
      return null;
    }
    this.typed = (goesOn ? this.typed : '') + event.key.toLowerCase();
    this.last = now;
    return this.typed;
  }
}

/**
 * Returns the next loaded place whose role or text begins with a word, or null if there is none. The
 * search begins after the active place, or at it if the word has more than one letter, and wraps
 * around.
 */
export function findPlaceOfWord(
  word: string,
  active: number,
  places: number,
  rowAt: (place: number) => { readonly role: string; readonly text: string } | undefined,
): number | null {
  const from = active + (word.length === 1 ? 1 : 0);
  for (let step = 0; step < places; step++) {
    const place = (from + step) % places;
    const row = rowAt(place);
    if (row !== undefined && [row.role, toSingleLine(row.text)].some((text) => text.toLowerCase().startsWith(word))) {
      return place;
    }
  }
  return null;
}

/**
 * Turns the key presses of an element into commands or typed words.
 * @param typed receives the word so far in lower case
 */
export function listenForKeys(
  element: HTMLElement,
  command: (command: TreeCommand) => void,
  typed: (word: string) => void,
): void {
  const typing = new TypeAhead();
  element.addEventListener('keydown', (event) => {
    const now = performance.now();
    const meant = typing.takes(event, now) ? undefined : findTreeCommand(event);
    if (meant !== undefined) {
      typing.end();
      event.preventDefault();
      command(meant);
      return;
    }
    const word = typing.add(event, now);
    if (word === null) {
      return;
    }
    event.preventDefault();
    typed(word);
  });
}
