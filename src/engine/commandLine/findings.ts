/** `c3 keep` and `c3 check`: a message as a test, and whether the tests of a folder still hold. */
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { writeOut } from '../../files/outFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { checksSentence, EXPECTATIONS, FINDING_DRAWS, type CheckedFinding } from '../../domain/answer.ts';
import { visible } from '../../shared/text/visible.ts';
import { readFinding } from '../findings/findingFile.ts';
import { findFindings } from '../findings/findFindings.ts';
import { junitOf } from '../findings/junit.ts';
import { messageNumber, readArguments, text, whole } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, withService } from './support.ts';

/** Where findings are kept unless named. */
const FOLDER = 'findings';

export async function keep(args: readonly string[], context: CommandContext): Promise<void> {
  const options = {
    ...STORE,
    ...JSON_FLAG,
    out: { type: 'string' },
    draws: { type: 'string' },
    expect: { type: 'string' },
  } as const;
  const parsed = readArguments('keep', args, options, 1);
  const message = messageNumber('keep', parsed);
  const given = text(parsed, 'expect') ?? 'held';
  const expect = EXPECTATIONS.find((one) => one === given);
  if (expect === undefined) {
    throw new C3Error('input', `--expect is ${EXPECTATIONS.join(' or ')}, not ${JSON.stringify(given.slice(0, 40))}.`);
  }
  const request = {
    message,
    expect,
    draws: whole(parsed, 'draws', FINDING_DRAWS.least, FINDING_DRAWS.usual),
    out: resolve(context.folder, text(parsed, 'out') ?? FOLDER),
  };
  await withService(parsed, context, async (service) => {
    await service.updated(context.signal);
    const kept = await service.keepFinding(request, context.signal);
    context.print(parsed.values['json'] === true ? JSON.stringify(kept) : visible(kept.sentence));
  });
}

export async function check(args: readonly string[], context: CommandContext): Promise<void> {
  const options = { ...STORE, ...JSON_FLAG, model: { type: 'string' }, junit: { type: 'string' } } as const;
  const parsed = readArguments('check', args, options, 1);
  const place = resolve(context.folder, parsed.positionals[0] ?? FOLDER);
  const files = await findFindings(place);
  // A file that cannot be read is refused before anything is loaded.
  for (const file of files) {
    await readFinding(file);
  }
  const named = text(parsed, 'model');
  const model = named === null ? null : resolve(context.folder, named);
  if (model !== null && !existsSync(model)) {
    throw new C3Error('input', `--model ${model} is not there; name the folder of a model.`);
  }
  const began = performance.now();
  const isJson = parsed.values['json'] === true;
  const findings: CheckedFinding[] = [];
  await withService(parsed, context, async (service) => {
    for (const file of files) {
      const found = await service.checkFinding({ file, model }, context.signal);
      const shown = { ...found, file: relative(context.folder, file) };
      findings.push(shown);
      if (!isJson) {
        context.print(wordsOf(shown).join('\n'));
      }
    }
  });
  const seconds = (performance.now() - began) / 1000;
  const sentence = checksSentence(findings);
  context.print(isJson ? JSON.stringify({ findings, seconds, sentence }) : sentence);
  const junit = text(parsed, 'junit');
  if (junit !== null) {
    writeOut(resolve(context.folder, junit), [junitOf(findings, seconds)]);
  }
  if (findings.some(({ passed, error }) => passed === false || error !== null)) {
    context.fails();
  }
}

const wordsOf = ({ file, title, sentence, passed, error }: CheckedFinding): string[] => [
  `${passed === false || error !== null ? '✗' : passed === null ? '?' : '✓'} ${visible(file)}`,
  `    ${visible(title)}`,
  `    ${visible(sentence)}`,
];
