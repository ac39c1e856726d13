/**
 * The peers of the suites generation and train, as a Python program: Transformers' `generate` and an eager PyTorch step
 * on a Llama of the same shape with random weights. It reads its task from its argument and prints one line of JSON:
 * `{"missing": module}`, or `{"name": versions, "seconds": {case: median}}`. It loads and writes no file.
 */
export const PEER_PROGRAM = String.raw`
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
