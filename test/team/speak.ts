/** Messages of a bundled team, outside any run. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../src/domain/problem.ts';
import { findBundledTeam } from '../../src/engine/places.ts';
import { LocalPolicy } from '../../src/policy/policy.ts';
import { loadTokenizer } from '../../src/policy/tokenizer.ts';
import { ModelHost } from '../../src/runtime/host.ts';
import { streamKey } from '../../src/runtime/random.ts';
import type { TaskName } from '../../src/tasks/split.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { requireOccurrence, requireRole } from '../../src/team/protocol.ts';
import { renderContext, renderPlain } from '../../src/team/render.ts';

export interface Asked {
  readonly problem: Problem;
  /** What the first role said; the first role itself does not see it. */
  readonly plan: string;
  readonly sibling: number;
  /** What it reads in the place of its first turn. */
  readonly context?: string;
}

/** The messages at a position of the protocol, in the order of the requests; temperature 0 is greedy. */
export type Speak = (position: number, asked: readonly Asked[], temperature: number) => Promise<string[]>;

/**
 * Works with a team whose model lies in `folder`, of `weights` if a file is named, under the protocol of the task's
 * bundled team.
 */
export async function withTeam<Result>(
  task: TaskName,
  folder: string,
  weights: string | undefined,
  work: (speak: Speak) => Promise<Result>,
): Promise<Result> {
  const protocolPath = join(findBundledTeam(task), 'protocol.json');
  const protocol = parseProtocol(await readFile(protocolPath, 'utf8'), protocolPath);
  const host = new ModelHost({ threads: 2 });
  try {
    const model = await host.load(folder);
    const snapshot = weights === undefined ? model.snapshot : await host.loadSnapshot(weights);
    const policy = new LocalPolicy(host, await loadTokenizer(folder), snapshot);
    return await work(async (position, asked, temperature) => {
      const { role, turn } = requireOccurrence(protocol, position);
      const sampling = { temperature, topP: 1, topK: 0, maxNewTokens: requireRole(protocol, role).maxNewTokens ?? 48 };
      const answers = await policy.answer(
        asked.map(({ problem, plan, sibling, context }) => ({
          role,
          context: context ?? renderPlain(renderContext(protocol, position, problem.question, new Map([[0, plan]]))),
          sampling,
          streamKey: streamKey({ seed: 0, scope: 'team', uidSha: problem.uidSha, role, turn, sibling }),
        })),
        { signal: new AbortController().signal },
      );
      return answers.map(({ text }) => text);
    });
  } finally {
    await host.close();
  }
}
