/** Controls a Python program that runs one iteration on request, to take turns with others. */

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { endOwned, spawnOwned } from '../../files/ownedProcess.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { combineSignals, unlessCancelled } from '../../shared/cancellation.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { describeMissingPeer, type BenchOptions } from '../report.ts';
import {
  makePeerFailure,
  listPythonCommands,
  makeMissingModuleFailure,
  pickReportedFailure,
  type PeerFailure,
} from '../speed/peer.ts';

/** The work of every iteration. */
export interface IterationTask {
  readonly shape: TransformerConfig;
  readonly threads: number;
  /** Token ids. All prompts have the same length. */
  readonly prompts: readonly (readonly number[])[];
  /** Completions of each prompt. */
  readonly group: number;
  /** Tokens of every completion. */
  readonly new: number;
  /** Sequences of one micro-batch. */
  readonly rows: number;
  readonly learningRate: number;
  readonly klCoefficient: number;
}

export const PEERS = ['pytorch', 'trl'] as const;
export type IterationPeer = (typeof PEERS)[number];

export interface SteppedSettings {
  /** Python commands to try in order. */
  readonly pythons?: readonly string[];
  /** Milliseconds to wait for an answer. */
  readonly limit?: number;
}

const LIMIT = 240_000;
/** Maximum number of characters that are kept of a peer's error stream. */
const LONGEST_ERRORS = 10_000;

const answerSchema = z.union([
  z.object({ missing: z.string() }),
  z.object({ name: z.string().max(200) }),
  z.object({ done: z.literal(true), processor: z.number().nonnegative() }),
]);
type Answer = z.infer<typeof answerSchema>;

/** A peer that is ready, or the reason why there is none. */
export type SteppedOutcome = { readonly status: 'ready'; readonly peer: SteppedPeer } | PeerFailure;

/** A running program that waits for its turn. The caller must end it. */
export class SteppedPeer {
  readonly name: string;
  private readonly talk: Talk;

  private constructor(name: string, talk: Talk) {
    this.name = name;
    this.talk = talk;
  }

  /**
   * Starts a peer with the first Python that has its modules, and notes the outcome.
   * @throws CancelledError after the program has ended
   */
  static async start(
    which: IterationPeer,
    task: IterationTask,
    options: BenchOptions,
    { pythons = listPythonCommands(), limit = LIMIT }: SteppedSettings = {},
  ): Promise<SteppedOutcome> {
    let found = makePeerFailure('not-installed', 'no Python on PATH');
    for (const python of pythons) {
      const talk = new Talk(python, [which, JSON.stringify(task)], options.signal, limit);
      const answer = await talk.answer();
      if (!('status' in answer) && 'name' in answer) {
        options.note(`peer: ${answer.name}`);
        return { status: 'ready', peer: new SteppedPeer(answer.name, talk) };
      }
      await talk.end();
      found = pickReportedFailure(
        found,
        'status' in answer
          ? answer
          : 'missing' in answer
            ? makeMissingModuleFailure(python, answer.missing)
            : makePeerFailure('failed', `${python} made an iteration that nobody asked for`),
      );
    }
    options.note(`${which}: ${describeMissingPeer(found)}`);
    return found;
  }

  /**
   * Runs one iteration.
   * @returns its seconds of processor time
   * @throws C3Error('engine') with the reason of the failure; CancelledError
   */
  async step(): Promise<number> {
    this.talk.ask();
    const answer = await this.talk.answer();
    if ('status' in answer || !('done' in answer)) {
      const why = 'status' in answer ? answer.reason : 'it gave another answer than asked for';
      throw new C3Error('engine', `${this.name} did not finish an iteration: ${why}; measure again without it.`);
    }
    return answer.processor;
  }

  /** Ends the program and waits until it has ended. */
  end(): Promise<void> {
    return this.talk.end();
  }
}

/** A conversation with one process, line by line. */
class Talk {
  private readonly python: string;
  private readonly signal: AbortSignal;
  private readonly limit: number;
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly lines: AsyncIterator<string>;
  private errors = '';
  private readonly ended: Promise<PeerFailure>;

  constructor(python: string, args: readonly string[], signal: AbortSignal, limit: number) {
    this.python = python;
    this.signal = signal;
    this.limit = limit;
    this.child = spawnOwned(process.env, (own) =>
      spawn(python, ['-c', ITERATION_PROGRAM, ...args], { ...own, stdio: ['pipe', 'pipe', 'pipe'] }),
    );
    this.child.stdin.on('error', () => undefined);
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.errors = (this.errors + chunk.toString()).slice(-LONGEST_ERRORS);
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => {
        const status = 'code' in error && error.code === 'ENOENT' ? 'not-installed' : 'failed';
        resolve(makePeerFailure(status, toErrorMessage(error)));
      });
      this.child.once('close', (code, killedBy) => {
        const last = this.errors.trimEnd().split('\n').at(-1)?.slice(0, 200) ?? '';
        const how = killedBy === null ? `exit code ${String(code)}` : `signal ${killedBy}`;
        resolve(makePeerFailure('failed', `${python} ended with ${how}${last === '' ? '' : `: ${last}`}`));
      });
    });
  }

  ask(): void {
    this.child.stdin.write('\n');
  }

  /**
   * Returns the next answer, or the failure if the process ended or took too long.
   * @throws CancelledError after the process has ended
   */
  async answer(): Promise<Answer | PeerFailure> {
    const late = AbortSignal.timeout(this.limit);
    try {
      const next = await unlessCancelled(this.lines.next(), combineSignals(this.signal, late));
      return next.done === true ? await this.ended : this.read(next.value);
    } catch (error) {
      await this.end();
      await this.ended;
      if (this.signal.aborted) {
        throw error;
      }
      return makePeerFailure('too-slow', `${this.python} took longer than ${this.limit / 1000} s`);
    }
  }

  async end(): Promise<void> {
    this.child.stdout.destroy();
    this.child.stderr.destroy();
    await endOwned(this.child, 0);
  }

  private read(line: string): Answer | PeerFailure {
    try {
      const answer = answerSchema.safeParse(JSON.parse(line));
      if (answer.success) {
        return answer.data;
      }
    } catch {
      // The line is not JSON.
    }
    return makePeerFailure('failed', `${this.python} printed something else than an answer`);
  }
}

/**
 * The peers of the suite iteration, as a Python program: whole iterations of group-relative policy
 * optimization by TRL's GRPOTrainer, or by a plain PyTorch loop with Transformers' `generate`, on a
 * Llama of the same shape with random weights. Its arguments are `pytorch` or `trl` and the task.
 * It prints `{"missing": module}` and ends, or prints `{"name": versions}`. Then it runs one
 * iteration for each line that it reads and prints `{"done": true, "processor": seconds}`. It loads
 * no files except those that TRL wrote to a temporary folder.
 */
const ITERATION_PROGRAM = String.raw`
import copy, json, os, sys, tempfile, time
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
def answer(line):
    print(json.dumps(line), file=answers, flush=True)

case, task = sys.argv[1], json.loads(sys.argv[2])
try:
    import torch, transformers
    from transformers import LlamaConfig, LlamaForCausalLM
    if case == "trl":
        import tokenizers, trl
        from datasets import Dataset
        from trl import GRPOConfig, GRPOTrainer
except ImportError as error:
    answer({"missing": str(error.name)})
    sys.exit(0)

torch.set_num_threads(task["threads"])
torch.manual_seed(0)
shape, prompts, group, new = task["shape"], task["prompts"], task["group"], task["new"]
width, size = len(prompts[0]), shape["vocabularySize"]
rate, coefficient, rows = task["learningRate"], task["klCoefficient"], task["rows"]
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=size, hidden_size=shape["hiddenSize"], intermediate_size=shape["intermediateSize"],
    num_hidden_layers=shape["layers"], num_attention_heads=shape["heads"], num_key_value_heads=shape["keyValueHeads"],
    head_dim=shape["headDim"], max_position_embeddings=shape["maxPositions"], tie_word_embeddings=shape["tieEmbeddings"],
    bos_token_id=None, eos_token_id=1, pad_token_id=0))

def score(ids):
    return sum(1 for token in ids if int(token) % 2 == 0) / len(ids)

def made(since):
    answer({"done": True, "processor": time.process_time() - since})

def waiting():
    return sys.stdin.readline() != ""

def plain():
    reference = copy.deepcopy(model).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.0)
    asked = torch.tensor(prompts)
    model.generation_config.eos_token_id = None
    def logprobs(of, ids):
        logits = of(input_ids=ids).logits[:, width - 1:-1]
        return torch.gather(logits.log_softmax(-1), 2, ids[:, width:, None])[..., 0]
    def iteration():
        model.eval()
        with torch.no_grad():
            drawn = model.generate(
                asked, attention_mask=torch.ones_like(asked), pad_token_id=0, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
                max_new_tokens=new, num_return_sequences=group)
            assert drawn.shape == (len(prompts) * group, width + new)
            referred = torch.cat([logprobs(reference, part) for part in drawn.split(rows)])
        returns = torch.tensor([score(one) for one in drawn[:, width:].tolist()]).view(-1, group)
        advantages = (returns - returns.mean(1, keepdim=True)).view(-1, 1)
        model.train()
        for place in range(0, len(drawn), rows):
            own = logprobs(model, drawn[place:place + rows])
            ratio = torch.exp(own - own.detach())
            gain = advantages[place:place + rows]
            away = referred[place:place + rows] - own
            loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain) + coefficient * (torch.exp(away) - away - 1)
            (loss.sum() / (len(drawn) * new)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    answer({"name": "PyTorch " + torch.__version__ + ", Transformers " + transformers.__version__})
    while waiting():
        started = time.process_time()
        iteration()
        made(started)

def grpo():
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"w" + str(token): token for token in range(size)}, unk_token="w0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w1", pad_token="w0", padding_side="left")
    class Turns(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            if not waiting():
                os._exit(0)
            self.started = time.process_time()
        def on_step_end(self, *_, **__):
            made(self.started)
    with tempfile.TemporaryDirectory() as folder:
        # Its reference model is loaded from where the model is said to come from.
        model.save_pretrained(folder)
        model.config._name_or_path = folder
        trainer = GRPOTrainer(
            model=model, processing_class=tokenizer, callbacks=[Turns()],
            reward_funcs=lambda completion_ids, **_: [score(ids) for ids in completion_ids],
            train_dataset=Dataset.from_list([{"prompt": " ".join("w" + str(token) for token in prompt)} for prompt in prompts]),
            args=GRPOConfig(
                output_dir=folder, use_cpu=True, bf16=False, fp16=False, gradient_checkpointing=False, seed=0,
                per_device_train_batch_size=rows, gradient_accumulation_steps=len(prompts) * group // rows, num_generations=group,
                max_completion_length=new, temperature=1.0, top_p=1.0, top_k=0, generation_kwargs={"min_new_tokens": new},
                beta=coefficient, loss_type="grpo", scale_rewards=False, learning_rate=rate, lr_scheduler_type="constant", adam_beta2=0.95,
                weight_decay=0.0, max_grad_norm=1.0, max_steps=1000000, logging_strategy="no", save_strategy="no", report_to=[],
                disable_tqdm=True, dataloader_pin_memory=False))
        answer({"name": "TRL " + trl.__version__})
        trainer.train()

if case == "trl":
    grpo()
else:
    plain()
`;
