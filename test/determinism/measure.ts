/**
 * Exact replay of the bundled team, measured and printed: replays grown from real problems through the team's protocol,
 * then re-executed in processes of their own, shuffled, in batches of every size from 1 to 256, with one thread and
 * with two. Usage: node test/determinism/measure.ts [model folder] [problems]
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerEvaluator } from '../../src/evaluate/evaluator.ts';
import { LocalPolicy } from '../../src/policy/policy.ts';
import { loadTokenizer } from '../../src/policy/tokenizer.ts';
import { EvaluatorBudget } from '../../src/replay/budget.ts';
import { growEpisodes } from '../../src/replay/episodes.ts';
import type { Completion, GenerationControl, GenerationRequest } from '../../src/runtime/generate/generate.ts';
import { ModelHost } from '../../src/runtime/host.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { parseProtocol } from '../../src/team/parseProtocol.ts';
import { renderPlain } from '../../src/team/render.ts';
import { reexecuteElsewhere, writeRecording, type RecordedReplay } from './replays.ts';

/** Alternatives of the first message, and replays of each. */
const FANOUT = [4, 4];
const INSTANCES = 640;
const LARGEST_BATCH = 256;

/** A runtime that keeps every request with its answer. */
class RecordingHost extends ModelHost {
  readonly recorded: RecordedReplay[] = [];

  override async generate(
    snapshot: string,
    requests: readonly GenerationRequest[],
    control: GenerationControl,
  ): Promise<Completion[]> {
    const completions = await super.generate(snapshot, requests, control);
    completions.forEach((completion, index) => {
      const request = requests[index];
      if (request !== undefined) {
        this.recorded.push({ request, completion });
      }
    });
    return completions;
  }
}

async function recordTeam(folder: string, problems: number): Promise<RecordedReplay[]> {
  const host = new RecordingHost({ threads: 2 });
  const { snapshot } = await host.load(folder);
  const path = join(folder, 'protocol.json');
  const protocol = parseProtocol(await readFile(path, 'utf8'), path);
  const settings = {
    protocol,
    render: renderPlain,
    policy: new LocalPolicy(host, await loadTokenizer(folder), snapshot),
    evaluator: answerEvaluator,
    budget: new EvaluatorBudget(Infinity),
    sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 48 },
    seed: 0,
    scope: 'determinism',
    commonRandomNumbers: true,
  };
  const branches = generateSplit({ seed: 'determinism', train: 0, evaluation: problems }).evaluation.map((problem) => ({
    problem,
    message: null,
  }));
  await growEpisodes(settings, branches, FANOUT, { signal: new AbortController().signal });
  await host.close();
  return host.recorded;
}

const [folder = join('media', 'team'), problems = String(INSTANCES)] = process.argv.slice(2);
const workspace = await mkdtemp(join(tmpdir(), 'c3-determinism-'));
try {
  const replays = await recordTeam(folder, Number(problems));
  const recording = join(workspace, 'replays.json');
  await writeRecording(recording, folder, replays);
  console.log(
    `recorded: ${replays.length} messages in ${new Set(replays.map(({ request }) => request.prompt.join())).size} contexts, two threads`,
  );
  for (const threads of [1, 2]) {
    const {
      replays: executed,
      distinct,
      tokens,
      batches,
      smallest,
      largest,
      differingTokens,
      differingLogprobs,
    } = await reexecuteElsewhere(recording, threads, LARGEST_BATCH);
    console.log(
      `${threads} thread(s), another process: ${executed} re-executed (${distinct} distinct, ${tokens} tokens) in ${batches} batches of ${smallest} to ${largest}: ` +
        `${differingTokens} differing tokens, ${differingLogprobs} differing log-probabilities`,
    );
  }
} finally {
  await rm(workspace, { recursive: true, force: true });
}
