/**
 * The input of a role's later turns if an environment asks it anew in each: the part of its own turns
 * that the role remembers, and then the environment's prompt as it is (MAGRPO reference section 5).
 */

import type { PromptMessage } from './promptMessage.ts';

/**
 * The part of a role's own earlier turns that it remembers, never those of another role. last: the
 * instruction of its first turn and its newest answer. full: all its prompts and answers; with exactly
 * one earlier turn it is the same as last. memoryful: nothing is repeated, because the role continues
 * its own conversation.
 */
export const MEMORY_MODES = ['last', 'full', 'memoryful'] as const;
export type MemoryMode = (typeof MEMORY_MODES)[number];

export interface History {
  readonly memory: MemoryMode;
  /** True if earlier prompts are repeated; not used by memoryful. */
  readonly prompts: boolean;
  /** True if earlier answers are repeated; not used by memoryful. */
  readonly responses: boolean;
}

/** An earlier turn of a role. */
export interface OwnTurn {
  /** The prompt without reminders: first the role's instruction, later the environment's prompt. */
  readonly prompt: string;
  readonly response: string;
  /** The relevant part of the response, such as the function in it; null if none was found. */
  readonly extracted: string | null;
}

export interface TurnInput {
  /** The conversation's first messages, which are the role's first turn. */
  readonly opening: readonly PromptMessage[];
  /** In order, at least one. */
  readonly turns: readonly OwnTurn[];
  /** The environment's new prompt. */
  readonly asked: string;
  /**
   * The kind of text that the role writes, for headings: `aux implementation`, or `response` if it is
   * the only role.
   */
  readonly writes: string;
}

/** The marker for an answer without a function. */
const NOTHING_FOUND = '(No implementation was found in it.)';

/** Returns the messages of a turn after the first. A pure function. */
export function writeTurnMessages(history: History, input: TurnInput): readonly PromptMessage[] {
  const { opening, turns, asked } = input;
  if (history.memory === 'memoryful') {
    return [
      ...opening,
      ...turns.flatMap(({ response }, index): PromptMessage[] => [
        { role: 'assistant', content: response },
        { role: 'user', content: turns[index + 1]?.prompt ?? asked },
      ]),
    ];
  }
  const blocks =
    history.memory === 'full' && turns.length > 1 ? writeAllTurns(history, input) : writeNewestTurn(history, input);
  return [{ role: 'user', content: [...blocks, asked].join('\n\n') }];
}

function writeNewestTurn({ prompts, responses }: History, { turns, writes }: TurnInput): string[] {
  const [first, newest] = [turns[0], turns.at(-1)];
  return [
    ...(prompts && first !== undefined ? [`Original problem and instructions:\n${first.prompt}`] : []),
    ...(responses && newest !== undefined ? [`Your last ${writes}:\n${newest.extracted ?? NOTHING_FOUND}`] : []),
  ];
}

function writeAllTurns({ prompts, responses }: History, { turns, writes }: TurnInput): string[] {
  const block = (what: string, of: (turn: OwnTurn) => string): string =>
    [`Your earlier ${what}s:`, ...turns.map((turn, index) => `Turn ${index + 1}:\n${of(turn)}`)].join('\n\n');
  return [
    ...(prompts ? [block('prompt', ({ prompt }) => prompt)] : []),
    ...(responses ? [block(writes, ({ response }) => response)] : []),
  ];
}
