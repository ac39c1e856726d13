/**
 * What a role reads in its later turns where an environment asks it anew in each of them: the environment's prompt as
 * it is, and before it what the role is to remember of its own turns (MAGRPO reference section 5).
 */
import type { PromptMessage } from './promptMessage.ts';

/**
 * What a role remembers of its own earlier turns; never of another role's. last: the instruction of its first turn and
 * its newest answer. full: all its prompts and answers; with exactly one earlier turn it renders like last. memoryful:
 * nothing is repeated, because the role continues its own conversation.
 */
export const MEMORY_MODES = ['last', 'full', 'memoryful'] as const;
export type MemoryMode = (typeof MEMORY_MODES)[number];

export interface History {
  readonly memory: MemoryMode;
  /** Whether earlier prompts are repeated; memoryful asks neither. */
  readonly prompts: boolean;
  /** Whether earlier answers are repeated. */
  readonly responses: boolean;
}

/** An earlier turn of a role. */
export interface OwnTurn {
  /** What it was asked, without what it was reminded of: its instruction in the first turn, an environment's after. */
  readonly prompt: string;
  readonly response: string;
  /** What counts of the response, as the function in it; null where none was found. */
  readonly extracted: string | null;
}

export interface TurnInput {
  /** The conversation's first messages, which are the role's first turn. */
  readonly opening: readonly PromptMessage[];
  /** In order, at least one. */
  readonly turns: readonly OwnTurn[];
  /** What the environment asks now. */
  readonly asked: string;
  /** What the role writes, as headings name it: `aux implementation`, or `response` where it is alone. */
  readonly writes: string;
}

/** A marker for an answer without a function. */
const NOTHING_FOUND = '(No implementation was found in it.)';

/** The messages of a turn after the first. A pure function. */
export function turnMessages(history: History, input: TurnInput): readonly PromptMessage[] {
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
  const blocks = history.memory === 'full' && turns.length > 1 ? allTurns(history, input) : newestTurn(history, input);
  return [{ role: 'user', content: [...blocks, asked].join('\n\n') }];
}

function newestTurn({ prompts, responses }: History, { turns, writes }: TurnInput): string[] {
  const [first, newest] = [turns[0], turns.at(-1)];
  return [
    ...(prompts && first !== undefined ? [`Original problem and instructions:\n${first.prompt}`] : []),
    ...(responses && newest !== undefined ? [`Your last ${writes}:\n${newest.extracted ?? NOTHING_FOUND}`] : []),
  ];
}

function allTurns({ prompts, responses }: History, { turns, writes }: TurnInput): string[] {
  const block = (what: string, of: (turn: OwnTurn) => string): string =>
    [`Your earlier ${what}s:`, ...turns.map((turn, index) => `Turn ${index + 1}:\n${of(turn)}`)].join('\n\n');
  return [
    ...(prompts ? [block('prompt', ({ prompt }) => prompt)] : []),
    ...(responses ? [block(writes, ({ response }) => response)] : []),
  ];
}
