/** The code of several messages as one program, such as a helper and the main function. */
import { CODE_BLOCKS, extractCode, type CodeBlocks } from '../../evaluate/python/code.ts';
import {
  entryPointOf,
  functionsIn,
  functionsOf,
  HELPER_NAME,
  joinedProgram,
} from '../../evaluate/python/functionSource.ts';
import type { EnvironmentInput, EnvironmentKind, EnvironmentOutcome } from '../kind.ts';

export const join: EnvironmentKind = {
  name: 'join',
  words:
    'Joins the code of the messages to one program, in their order; with `take: functions` only the helper `aux` of the first message and the main function of the last. `blocks` says which blocks of a message are its code.',
  options: { take: ['code', 'functions'], blocks: CODE_BLOCKS },
  derived: true,
  run: (input) => {
    const entryPoint = input.options['take'] === 'functions' ? entryPointOf(input.problem) : null;
    return entryPoint === null
      ? { text: fenced(input.messages.map(({ text }) => extractCode(text, blocksOf(input)).trimEnd()).join('\n\n\n')) }
      : joinedFunctions(input, entryPoint);
  },
};

/** Joins the functions that the roles were asked for; a single message may contain both. */
function joinedFunctions(input: EnvironmentInput, entryPoint: string): EnvironmentOutcome {
  const { problem, messages } = input;
  const blocks = blocksOf(input);
  const [first, last] = [messages[0], messages.at(-1)];
  if (first === undefined || last === undefined) {
    return { text: '' };
  }
  const found =
    first === last
      ? functionsIn(last.text, entryPoint, blocks)
      : functionsOf(first.text, last.text, entryPoint, blocks);
  const parts: [string, string | null][] =
    first === last
      ? [[last.role, found.main]]
      : [
          [first.role, found.helper],
          [last.role, found.main],
        ];
  return {
    text: fenced(joinedProgram({ prefix: problem.tests?.prefix ?? '' }, found).trimEnd()),
    json: { helper: HELPER_NAME, entryPoint, extracted: Object.fromEntries(parts) },
  };
}

const blocksOf = ({ options }: EnvironmentInput): CodeBlocks | undefined =>
  CODE_BLOCKS.find((name) => name === options['blocks']);

const fenced = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
