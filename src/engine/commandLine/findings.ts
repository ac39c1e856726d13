/** `c3 keep` and `c3 check`: keep a message as a test, and check the tests of a folder. */

import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { writeChecksSentence, type CheckedFinding } from '../../domain/answer.ts';
import { writeOut } from '../../files/outFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { showHidden } from '../../shared/text/visible.ts';
import { findFindings } from '../findings/findFindings.ts';
import { readFinding } from '../findings/findingFile.ts';
import { formatJunit } from '../findings/junit.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { CHECK, KEEP } from './declared/messages.ts';
import { withService } from './support.ts';

export async function keep(given: Given<typeof KEEP>, context: CommandContext): Promise<void> {
  const { message, expect, draws } = given;
  const request = { message, expect, draws, out: resolve(context.folder, given.out) };
  await withService(given, context, async (service) => {
    await service.updated(context.signal);
    const kept = await service.keepFinding(request, context.signal);
    context.print(given.json ? JSON.stringify(kept) : showHidden(kept.sentence));
  });
}

export async function check(given: Given<typeof CHECK>, context: CommandContext): Promise<void> {
  const place = resolve(context.folder, given.folder);
  const files = await findFindings(place);
  // Files that cannot be read are refused before anything is loaded.
  for (const file of files) {
    await readFinding(file);
  }
  const model = given.model === null ? null : resolve(context.folder, given.model);
  if (model !== null && !existsSync(model)) {
    throw new C3Error('input', `--model ${model} is not there; name the folder of a model.`);
  }
  const began = performance.now();
  const findings: CheckedFinding[] = [];
  await withService(given, context, async (service) => {
    for (const file of files) {
      const found = await service.checkFinding({ file, model }, context.signal);
      const shown = { ...found, file: relative(context.folder, file) };
      findings.push(shown);
      if (!given.json) {
        context.print(formatCheckedFinding(shown).join('\n'));
      }
    }
  });
  const seconds = (performance.now() - began) / 1000;
  const sentence = writeChecksSentence(findings);
  context.print(given.json ? JSON.stringify({ findings, seconds, sentence }) : sentence);
  if (given.junit !== null) {
    writeOut(resolve(context.folder, given.junit), [formatJunit(findings, seconds)]);
  }
  if (findings.some(({ passed, error }) => passed === false || error !== null)) {
    context.fails();
  }
}

const formatCheckedFinding = ({ file, title, sentence, passed, error }: CheckedFinding): string[] => [
  `${passed === false || error !== null ? '✗' : passed === null ? '?' : '✓'} ${showHidden(file)}`,
  `    ${showHidden(title)}`,
  `    ${showHidden(sentence)}`,
];
