/** Key bindings of pages, and commands and keys that move the focus in a list. */

/** A command with its keys and its entry in the key sheet. */
export interface KeyBinding<Command extends string> {
  readonly command: Command;
  readonly keys: readonly string[];
  /** True if the keys need Shift. */
  readonly shift?: boolean;
  readonly shown: string;
  readonly words: string;
}

export type KeyPress = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey'> &
  Partial<Pick<KeyboardEvent, 'shiftKey'>>;

/** Returns true if Ctrl, Alt or Meta is pressed. */
export const hasModifier = ({ ctrlKey, altKey, metaKey }: KeyPress): boolean => ctrlKey || altKey || metaKey;

/** Returns the command of a key press without Ctrl, Alt or Meta, or undefined if there is none. */
export function findBoundCommand<Command extends string>(
  bindings: readonly KeyBinding<Command>[],
  press: KeyPress,
): Command | undefined {
  return hasModifier(press)
    ? undefined
    : bindings.find(({ keys, shift = false }) => keys.includes(press.key) && (!shift || press.shiftKey === true))
        ?.command;
}

/** The commands that move the focus, each with a function that returns the new place. */
const MOVES = {
  next: (place) => place + 1,
  previous: (place) => place - 1,
  nextPage: (place, page) => place + page,
  previousPage: (place, page) => place - page,
  first: () => 0,
  last: (_place, _page, last) => last,
} as const satisfies Record<string, (place: number, page: number, last: number) => number>;

export type MoveCommand = keyof typeof MOVES;

export const isMove = (command: string): command is MoveCommand => Object.hasOwn(MOVES, command);

/**
 * Returns the place to which a command moves the focus. It may be beyond the ends.
 * @param page number of rows in a page
 */
export function placeAfter(command: MoveCommand, place: number, page: number, last: number): number {
  return MOVES[command](place, page, last);
}

/** Returns the index in a list to which an arrow key, Home or End moves, else undefined. */
export function indexAfterKey(
  key: string,
  index: number,
  length: number,
  [previous, next]: readonly [previous: string, next: string],
): number | undefined {
  const to = { [previous]: index - 1, [next]: index + 1, Home: 0, End: length - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(length - 1, to));
}
