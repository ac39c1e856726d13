/**
 * The peers of the suite iteration, as a Python program: whole iterations of group-relative policy optimization by
 * TRL's GRPOTrainer, or by a plain PyTorch loop with Transformers' `generate`, on a Llama of the same shape with random
 * weights. Its arguments are `pytorch` or `trl` and the task. It prints `{"missing": module}` and ends, or
 * `{"name": versions}`; then it makes one iteration for each line that it reads and prints `{"done": true, "processor":
 * seconds}`. It loads no file but what TRL wrote to a temporary folder.
 */
export const ITERATION_PROGRAM = String.raw`
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
