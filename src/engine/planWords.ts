/** Model facts and self-tests as people at a terminal read them. */
import type { ModelFacts, SelfTestStep } from '../shared/models.ts';
import { oneLine } from '../shared/oneLine.ts';
import { bytesWords, countWords } from '../shared/sizes.ts';

const LONGEST = 200;
const whole = (value: number): string => value.toLocaleString('en-US');

/** Names and values, one line each. */
export function factsTable(facts: ModelFacts): string {
  const { precisions, files, chatTemplate, reasons } = facts;
  const rows: readonly (readonly [string, string])[] = [
    ['family', facts.family],
    ['parameters', `${countWords(facts.parameters)} (${precisions.map(({ dtype, parameters }) => (precisions.length === 1 ? dtype : `${countWords(parameters)} ${dtype}`)).join(', ')})`],
    ['weights', `${bytesWords(facts.bytes)} in ${String(files)} ${files === 1 ? 'file' : 'files'}`],
    ['layers', `${String(facts.layers)}, hidden size ${whole(facts.hiddenSize)}, ${String(facts.heads)} heads over ${String(facts.keyValueHeads)} of keys and values`],
    ['vocabulary', `${whole(facts.vocabularySize)} tokens, embeddings ${facts.tiedEmbeddings ? 'tied' : 'not tied'}`],
    ['positions', `${whole(facts.maxPositions)}${facts.ropeScaling === null ? '' : `, scaled: ${facts.ropeScaling}`}`],
    ['chat template', chatTemplate === null ? 'none' : `${chatTemplate}${reasons ? ', can reason; runs leave that off unless asked' : ''}`],
    ['messages end with', facts.endTokens.map((token) => oneLine(token, 40)).join(', ')],
  ];
  return [facts.folder, ...rows.map(([name, value]) => `  ${name.padEnd(19)}${oneLine(value, LONGEST)}`)].join('\n');
}

/** One step of a self-test: its name, what came out, how long it took. */
export const stepLine = ({ name, passed, seconds, detail }: SelfTestStep): string => `  ${passed ? 'passed' : 'FAILED'}  ${name.padEnd(15)}${oneLine(detail, LONGEST)} (${seconds.toFixed(1)} s)`;
