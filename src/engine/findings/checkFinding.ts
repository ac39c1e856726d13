/** Checks a finding: compares the team's chance of success at its place with the one when it was kept. */

import { dirname } from 'node:path';
import { mean } from '../../credit/describe.ts';
import { judgeFinding } from '../../credit/findingVerdict.ts';
import { writeCheckSentence, isAsExpected, type CheckedFinding } from '../../domain/answer.ts';
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import type { CheckFindingParams } from '../../shared/protocols/engineProtocol.ts';
import type { Engine } from '../session/session.ts';
import { openFinding, type OpenFinding } from './drawFinding.ts';
import { readFinding, type Draw, type FindingFile } from './findingFile.ts';

/** Draws in a block; the same for keeping and for checking. */
export const DRAWS_PER_BLOCK = 20;

/**
 * Draws a finding again, with the random numbers of its stored draws, until the verdict is known or
 * all are drawn. An error becomes part of the result, so that other findings can still be checked.
 * @throws C3Error('input') if the file is not a finding; CancelledError
 */
export async function checkFinding(
  engine: Engine,
  { file, model }: CheckFindingParams,
  signal: AbortSignal,
): Promise<CheckedFinding> {
  const finding = await readFinding(file);
  const stopping = engine.work.stopping(signal);
  try {
    const by = model === null ? { weights: finding.drawn.weights } : { model };
    await using opened = await engine.work.tracked(openFinding(engine, finding, dirname(file), by, stopping));
    return await engine.work.tracked(drawAgain(finding, file, opened));
  } catch (error) {
    if (!(error instanceof C3Error)) {
      throw error;
    }
    return {
      ...{ file, title: finding.title, verdict: 'undecided', expect: finding.expect, passed: null, difference: null },
      ...{ then: null, now: null, differs: [], evaluatorCalls: 0 },
      ...{ sentence: `Not checked: ${toErrorMessage(error)}`, error: toErrorMessage(error) },
    };
  }
}

async function drawAgain(finding: FindingFile, file: string, opened: OpenFinding): Promise<CheckedFinding> {
  const kept = finding.drawn.draws;
  const { span } = opened;
  const pairs: { readonly then: Draw; readonly now: Draw }[] = [];
  let found = judgeFinding([], span);
  for (let block = 0; pairs.length < kept.length && found.verdict === 'undecided'; block++) {
    const before = kept.slice(pairs.length, pairs.length + DRAWS_PER_BLOCK);
    const after = await opened.draw(block, before.length);
    pairs.push(...before.flatMap((then, at) => (after[at] === undefined ? [] : [{ then, now: after[at] }])));
    found = judgeFinding(
      pairs.map(({ then, now }) => [then.return, now.return]),
      span,
    );
  }
  const known = {
    ...found,
    expect: finding.expect,
    passed: isAsExpected(found.verdict, finding.expect),
    then: summarizeSide(pairs, 'then'),
    now: summarizeSide(pairs, 'now'),
    differs: listFindingDifferences(finding, opened),
    evaluatorCalls: opened.evaluatorCalls(),
  };
  return { file, title: finding.title, ...known, sentence: writeCheckSentence(known, opened.most), error: null };
}

/** Summarizes one side of the pairs in which both draws were scored; null if there are none. */
function summarizeSide(
  pairs: readonly { readonly then: Draw; readonly now: Draw }[],
  side: 'then' | 'now',
): CheckedFinding['then'] {
  const scored = pairs.filter(({ then, now }) => then.return !== null && now.return !== null);
  return scored.length === 0
    ? null
    : {
        value: mean(scored.map((pair) => pair[side].return ?? 0)),
        said: scored.filter((pair) => pair[side].same).length,
      };
}

/** Lists the changes since the finding was kept, as clauses. */
function listFindingDifferences({ drawn, context }: FindingFile, opened: OpenFinding): string[] {
  const { weights, environment } = opened;
  return [
    ...(weights === drawn.weights
      ? []
      : [`the weights are ${weights.slice(0, 12)}, and were ${drawn.weights.slice(0, 12)}`]),
    ...(opened.context.key === context.key
      ? []
      : ['the request of the message differs: a prompt, an earlier text or the chat template has changed']),
    ...listEnvironmentDifferences(environment, drawn.environment),
  ];
}

function listEnvironmentDifferences(now: NumericEnvironment, then: NumericEnvironment): string[] {
  const names = ['runtime', 'provider', 'device', 'threads', 'platform'] as const;
  return names.flatMap((name) =>
    now[name] === then[name] ? [] : [`the ${name} is ${now[name]}, and was ${then[name]}`],
  );
}
