/** Runs the peer program with a Python of this machine that has its modules. Installs nothing. */

import { z } from 'zod';
import { runOwned } from '../../files/runOwned.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import { describeMissingPeer, type BenchOptions, type BenchReport, type PeerStatus } from '../report.ts';

/** The task of the peer program. It measures every case `rounds` times after one warm-up. */
export type PeerTask = { readonly shape: TransformerConfig; readonly threads: number; readonly rounds: number } & (
  | { readonly suite: 'generation'; readonly batches: readonly number[]; readonly prompt: number; readonly new: number }
  | { readonly suite: 'train'; readonly rows: number; readonly length: number }
);

export interface Peer {
  /** The programs with their versions. */
  readonly name: string;
  /** Median seconds by case: `distinct BATCH`, `shared BATCH` or `step`. */
  readonly seconds: Readonly<Record<string, number>>;
}

export interface PeerSettings {
  /** Python commands to try in order. */
  readonly pythons?: readonly string[];
  /** Milliseconds after which the peer is stopped. */
  readonly limit?: number;
}

const LIMIT = 240_000;
/** Maximum number of characters that are read of a peer's output. */
const LONGEST_OUTPUT = 100_000;
const LONGEST_REASON = 200;

const answerSchema = z.union([
  z.object({ missing: z.string() }),
  z.object({ name: z.string().max(200), seconds: z.record(z.string(), z.number().positive()) }),
]);

/** A measured peer, or the reason why there is none. */
export type PeerOutcome = { readonly status: 'measured'; readonly peer: Peer } | PeerFailure;

/** The reason why a peer has no figures. */
export interface PeerFailure {
  readonly status: Exclude<PeerStatus, 'measured'>;
  /** One line. */
  readonly reason: string;
  readonly peer: null;
}

export const makePeerFailure = (status: PeerFailure['status'], reason: string): PeerFailure => ({
  status,
  reason,
  peer: null,
});

/** Returns the failure of a Python that lacks a module. */
export const makeMissingModuleFailure = (python: string, module: string): PeerFailure =>
  makePeerFailure('not-installed', `${python} has no module ${module.slice(0, 40)}`);

/**
 * Returns the more informative of two failures: a Python with the needed modules that fails says
 * more than one without them.
 */
export const pickReportedFailure = (first: PeerFailure, second: PeerFailure): PeerFailure =>
  first.status === 'not-installed' ? second : first;

/**
 * Measures the peer with the first Python that has its modules, and notes the outcome.
 * @throws CancelledError after the peer has ended
 */
export async function measurePeer(
  task: PeerTask,
  options: BenchOptions,
  { pythons = listPythonCommands(), limit = LIMIT }: PeerSettings = {},
): Promise<PeerOutcome> {
  options.note('measuring the peer');
  let worst = makePeerFailure('not-installed', 'no Python on PATH');
  for (const python of pythons) {
    const outcome = await askPeer(python, task, options.signal, limit);
    if (outcome.status === 'measured') {
      options.note(`peer: ${outcome.peer.name}`);
      return outcome;
    }
    worst = pickReportedFailure(worst, outcome);
  }
  options.note(describeMissingPeer(worst));
  return worst;
}

/** Returns the fields of a suite's report about its peer. */
export function toPeerFields(outcome: PeerOutcome): Required<Pick<BenchReport, 'peer' | 'peerStatus' | 'peerReason'>> {
  const { peer, status } = outcome;
  return { peer: peer?.name ?? null, peerStatus: status, peerReason: status === 'measured' ? null : outcome.reason };
}

/** Returns the Python that C3_PYTHON names, or the usual names, which are looked up on PATH. */
export function listPythonCommands(): readonly string[] {
  const chosen = process.env['C3_PYTHON'];
  return chosen === undefined || chosen === '' ? ['python3', 'python'] : [chosen];
}

async function askPeer(python: string, task: PeerTask, signal: AbortSignal, limit: number): Promise<PeerOutcome> {
  const { end, stdout, stderr } = await runOwned(
    {
      command: [python, '-c', PEER_PROGRAM, JSON.stringify(task)],
      env: process.env,
      milliseconds: limit,
      most: LONGEST_OUTPUT,
    },
    signal,
  );
  switch (end.kind) {
    case 'unstarted':
      return makePeerFailure(end.error.code === 'ENOENT' ? 'not-installed' : 'failed', toErrorMessage(end.error));
    case 'late':
      return makePeerFailure('too-slow', `${python} took longer than ${limit / 1000} s`);
    case 'flood':
      return makePeerFailure('failed', `${python} printed ${LONGEST_OUTPUT} characters and more`);
    case 'exit':
    case 'signal': {
      if (end.kind === 'exit' && end.code === 0) {
        return readPeerAnswer(python, lastLine(stdout));
      }
      const last = lastLine(stderr).slice(0, LONGEST_REASON);
      const how = end.kind === 'signal' ? `signal ${end.signal}` : `exit code ${end.code}`;
      return makePeerFailure('failed', `${python} failed with ${how}${last === '' ? '' : `: ${last}`}`);
    }
  }
}

function readPeerAnswer(python: string, line: string): PeerOutcome {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return makePeerFailure('failed', `${python} printed no figures`);
  }
  const answer = answerSchema.safeParse(json);
  if (!answer.success) {
    return makePeerFailure('failed', `${python} printed no figures`);
  }
  if ('missing' in answer.data) {
    return makeMissingModuleFailure(python, answer.data.missing);
  }
  return { status: 'measured', peer: answer.data };
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/**
 * The peers of the suites generation and train, as a Python program: Transformers' `generate` and
 * an eager PyTorch step on a Llama of the same shape with random weights. It reads its task from
 * its argument and prints one line of JSON: `{"missing": module}`, or `{"name": versions,
 * "seconds": {case: median}}`. It reads and writes no files.
 */
const PEER_PROGRAM = String.raw`
import json, sys, time
try:
    import torch, transformers
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:
    print(json.dumps({"missing": str(error.name)}))
    sys.exit(0)

task = json.loads(sys.argv[1])
torch.set_num_threads(task["threads"])
torch.manual_seed(0)
shape = task["shape"]
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=shape["vocabularySize"], hidden_size=shape["hiddenSize"], intermediate_size=shape["intermediateSize"],
    num_hidden_layers=shape["layers"], num_attention_heads=shape["heads"], num_key_value_heads=shape["keyValueHeads"],
    head_dim=shape["headDim"], max_position_embeddings=shape["maxPositions"], tie_word_embeddings=shape["tieEmbeddings"]))

def median_seconds(work):
    work()
    times = []
    for _ in range(task["rounds"]):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]

def tokens(rows, length):
    return torch.randint(3, shape["vocabularySize"], (rows, length))

seconds = {}
if task["suite"] == "generation":
    model.eval()
    model.generation_config.eos_token_id = None
    for batch in task["batches"]:
        for case, rows in (("distinct", batch), ("shared", 1)):
            prompts = tokens(rows, task["prompt"])
            def generate():
                with torch.no_grad():
                    made = model.generate(
                        prompts, attention_mask=torch.ones_like(prompts), pad_token_id=0, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
                        max_new_tokens=task["new"], num_return_sequences=batch // rows)
                assert made.shape == (batch, task["prompt"] + task["new"])
            seconds[case + " " + str(batch)] = median_seconds(generate)
else:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.0)
    data = tokens(task["rows"], task["length"])
    def step():
        model(input_ids=data, labels=data).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    seconds["step"] = median_seconds(step)
print(json.dumps({"name": "PyTorch " + torch.__version__ + ", Transformers " + transformers.__version__, "seconds": seconds}))
`;
