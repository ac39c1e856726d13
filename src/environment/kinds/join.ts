/** The code of several messages as one program, such as a helper and the main function. */

import { CODE_BLOCKS, extractCode, type CodeBlocks } from '../../evaluate/python/code.ts';
import {
  findEntryPoint,
  splitFunctions,
  pickFunctions,
  HELPER_NAME,
  joinProgram,
} from '../../evaluate/python/functionSource.ts';
import type { EnvironmentInput, EnvironmentKind, EnvironmentOutcome } from '../kind.ts';

export const join: EnvironmentKind = {
  name: 'join',
  words:
    'Joins the code of the messages to one program, in their order; with `take: functions` only the helper `aux` of the first message and the main function of the last. `blocks` says which blocks of a message are its code.',
  options: { take: ['code', 'functions'], blocks: CODE_BLOCKS },
  derived: true,
  run: (input) => {
    const entryPoint = input.options['take'] === 'functions' ? findEntryPoint(input.problem) : null;
    return entryPoint === null
      ? {
          text: fencePython(
            input.messages.map(({ text }) => extractCode(text, readBlocksOption(input)).trimEnd()).join('\n\n\n'),
          ),
        }
      : joinFunctions(input, entryPoint);
  },
};

/** Joins the functions that the roles were asked for; a single message may contain both. */
function joinFunctions(input: EnvironmentInput, entryPoint: string): EnvironmentOutcome {
  const { problem, messages } = input;
  const blocks = readBlocksOption(input);
  const [first, last] = [messages[0], messages.at(-1)];
  if (first === undefined || last === undefined) {
    return { text: '' };
  }
  const found =
    first === last
      ? splitFunctions(last.text, entryPoint, blocks)
      : pickFunctions(first.text, last.text, entryPoint, blocks);
  const parts: [string, string | null][] =
    first === last
      ? [[last.role, found.main]]
      : [
          [first.role, found.helper],
          [last.role, found.main],
        ];
  return {
    text: fencePython(joinProgram({ prefix: problem.tests?.prefix ?? '' }, found).trimEnd()),
    json: { helper: HELPER_NAME, entryPoint, extracted: Object.fromEntries(parts) },
  };
}

const readBlocksOption = ({ options }: EnvironmentInput): CodeBlocks | undefined =>
  CODE_BLOCKS.find((name) => name === options['blocks']);

const fencePython = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
