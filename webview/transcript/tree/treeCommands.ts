/** What the commands of the tree do: where they move the keyboard, and which event they are for a message. */
import type { TreeCommand } from '../keys.ts';
import type { PanelCommand, TreeEvents } from './treeEvents.ts';

/** The commands about a message, with the event that each one is. */
export const MESSAGE_EVENTS = {
  replay: 'replay',
  verify: 'verify',
  report: 'exportReport',
  link: 'copyLink',
  compare: 'compare',
  tokens: 'tokens',
} as const satisfies Partial<Record<TreeCommand, keyof TreeEvents>>;

/** The commands that move the keyboard, with the visible place that each moves it to. */
const MOVES = {
  next: (place) => place + 1,
  previous: (place) => place - 1,
  nextPage: (place, page) => place + page,
  previousPage: (place, page) => place - page,
  first: () => 0,
  last: (_place, _page, visible) => visible - 1,
} as const satisfies Partial<Record<TreeCommand, (place: number, page: number, visible: number) => number>>;

type MessageCommand = keyof typeof MESSAGE_EVENTS;
export type MoveCommand = keyof typeof MOVES;
/** The commands about the row that has the keyboard. */
type RowCommand = Exclude<TreeCommand, MessageCommand | MoveCommand | PanelCommand>;

const ROW_COMMANDS: ReadonlySet<TreeCommand> = new Set<RowCommand>(['open', 'close', 'select']);

export const isMessageCommand = (command: TreeCommand): command is MessageCommand =>
  Object.hasOwn(MESSAGE_EVENTS, command);
export const isMove = (command: TreeCommand): command is MoveCommand => Object.hasOwn(MOVES, command);
export const isRowCommand = (command: TreeCommand): command is RowCommand => ROW_COMMANDS.has(command);

/**
 * The visible place that a command moves the keyboard to; it may be beyond the ends.
 * @param place where the keyboard is
 * @param page rows that a page key goes by
 * @param visible places in all
 */
export function placeAfter(command: MoveCommand, place: number, page: number, visible: number): number {
  return MOVES[command](place, page, visible);
}
