/** The commands of the command line by name. What a command does is loaded when it is asked for. */
import { CREDIT_ESTIMATORS } from '../../credit/estimators.ts';
import { SUITE_NAMES } from '../bench/suites.ts';
import type { Command } from './command.ts';

const always = (): boolean => true;

export const COMMANDS: Readonly<Record<string, Command>> = {
  run: {
    usage: 'run [CONFIG] [--override k=v ...] | --resume RUN | --again JOB [--detach] [--show] [--json]',
    summary:
      'train or evaluate, or resume an interrupted run; --detach runs it in the engine, in the background; --show replays one message at the end',
    run: async (...given) => (await import('./runs.ts')).run(...given),
  },
  replace: {
    usage: 'replace RUN ROLE=SOURCE [--strategy align|direct|retrain] [--override k=v ...] [--detach] [--json]',
    summary:
      'go on with the team of a run, with another policy for one of its roles: base, bundled-small, ' +
      'the folder of an adapter or of a model, or RUN:STEP:ROLE; shows what the swap cost',
    run: async (...given) => (await import('./replace.ts')).replace(...given),
  },
  status: {
    usage: 'status [--json]',
    summary: 'runs in progress, queued or interrupted',
    onlyReads: always,
    run: async (...given) => (await import('./jobs.ts')).status(...given),
  },
  cancel: {
    usage: 'cancel RUN|JOB [--json]',
    summary: 'stop a run in progress, wherever it runs, or a queued one',
    run: async (...given) => (await import('./jobs.ts')).cancel(...given),
  },
  replay: {
    usage:
      'replay MESSAGE [--alternatives N] [--replays R] [--text TEXT] [--result TEXT] [--independent] | --settle [--at-most N] [--snapshot ID|STEP | --model DIR] [--temperature T] [--spend-tokens N] [--spend-money X] [--team FILE] [--json]',
    summary:
      'replay one message, exactly or with another continuation; ' +
      '--settle spends replays in pairs until its credit is ' +
      'decided; --team says who answers for a recorded one, --result tries another result of the tool that it called',
    run: async (...given) => (await import('./runs.ts')).replay(...given),
  },
  blame: {
    usage:
      'blame [EPISODE | --run RUN [--only KEY=VALUE ...] [--by turn|class|label|level|source]] [--team FILE] [--budget N] [--json]',
    summary:
      'which message lost an episode: the chance of success after each message, from at most N (96) continuations; EPISODE is any message of it; --team says who answers for a recorded one, --spend-tokens N and --spend-money X what that may cost. Without one, what loses the episodes of a run (the newest), by role and by what --by says, from at most N (6400); --only class=, episode=, label=, level=, source= or uid= says which episodes',
    run: async (...given) => (await import('./blame.ts')).blame(...given),
  },
  try: {
    usage:
      'try [MESSAGE | --run RUN [--only KEY=VALUE ...] [--lost]] --change KEY=VALUE ... | --each-role --with SNAPSHOT|STEP|DIR|MODEL@ADDRESS [--budget N] [--spend-tokens N] [--spend-money X] [--json]',
    summary:
      'whether a change of the team helps on the held-out problems of a run (the newest): ROLE.prompt=FILE, temperature=T, top_p=P, top_k=K, max_new_tokens=N, snapshot=ID|STEP, model=DIR, ROLE.snapshot=ID|STEP, ROLE.model=DIR or ROLE.endpoint=MODEL@ADDRESS of a server, in pairs on the same random numbers, from at most N (2000) evaluator calls; MESSAGE begins in the context of one message, --only class=, episode=, label=, level=, source= or uid= tries it on some of the problems, --lost on those that were lost, --each-role on one role after another',
    run: async (...given) => (await import('./trial.ts')).tryCommand(...given),
  },
  keep: {
    usage: 'keep MESSAGE [--out FILE|FOLDER] [--draws N] [--expect held|fixed] [--json]',
    summary:
      'a message as a test in a small file (findings/*.finding.yaml): its context, what was said, and what N (100) fresh messages in its place returned',
    run: async (...given) => (await import('./findings.ts')).keep(...given),
  },
  check: {
    usage: 'check [FOLDER] [--model DIR] [--junit FILE] [--json]',
    summary:
      'draw the findings of a folder (findings) again, with their own weights or another model: held, fixed, worse or undecided; exit code 1 where one is worse than it expects',
    run: async (...given) => (await import('./findings.ts')).check(...given),
  },
  infer: {
    usage: 'infer MESSAGE [--endpoint URL] [--model-name NAME]',
    summary:
      'a team file for a message that was recorded elsewhere: who spoke next and saw what, to be read and confirmed',
    onlyReads: always,
    run: async (...given) => (await import('./infer.ts')).infer(...given),
  },
  verify: {
    usage: 'verify [MESSAGE] [--run RUN] [--sample N] [--json]',
    summary: 're-execute stored replays, compare tokens',
    run: async (...given) => (await import('./runs.ts')).verify(...given),
  },
  taxonomy: {
    usage: 'taxonomy --run RUN [--thresholds KEY=VALUE ...] [--json]',
    summary: 'failure classes with evidence, and how your labels agree with them',
    onlyReads: always,
    run: async (...given) => (await import('./measures.ts')).taxonomy(...given),
  },
  label: {
    usage: 'label BUCKET NAME|--take-back [--note TEXT] [--json]',
    summary: 'your label of a case: a class, unclassified, or up to 80 characters',
    run: async (...given) => (await import('./measures.ts')).label(...given),
  },
  diagnose: {
    usage:
      'diagnose --run RUN [--origin training|request|diagnostic] [--sample [--contexts S] [--alternatives J] [--replays C] [--value-samples JV] [--role ROLE] [--seed N]] [--emptied [--contexts S] [--replays C] [--role ROLE] [--seed N]] [--json]',
    summary:
      'fidelity, variance, influence, pass@k and cost with intervals; --sample draws buckets to measure on first; --emptied replays held-out questions without what a role says',
    onlyReads: (args) => !args.includes('--sample') && !args.includes('--emptied'),
    run: async (...given) => (await import('./measures.ts')).diagnoseRun(...given),
  },
  report: {
    usage: 'report --run RUN | --message ID --out FILE [--json]',
    summary: 'a report of a run or of one message, as a web page (.html) or as data (.json)',
    onlyReads: always,
    run: async (...given) => (await import('./report.ts')).report(...given),
  },
  note: {
    usage: 'note RUN|MESSAGE [--title TITLE] [--score VALUE|none] [--note TEXT] [--tags TAG,TAG ...] [--json]',
    summary: 'what you call a run and say of it, or of the episode of a message; what is left out stays',
    run: async (...given) => (await import('./ownRuns.ts')).note(...given),
  },
  delete: {
    usage: 'delete RUN [--json]',
    summary: 'take a run out of the store with its weights, and make the store smaller; this cannot be undone',
    run: async (...given) => (await import('./ownRuns.ts')).deleteCommand(...given),
  },
  export: {
    usage: 'export --run RUN --format buckets|adapter|model --out PATH [--step N] [--json]',
    summary: "a run's buckets in the C3 authors' format, or its trained weights as PEFT or Hugging Face folders",
    run: async (...given) => (await import('./exchange.ts')).exportRun(...given),
  },
  import: {
    usage: 'import FILE [--mask-secrets] [--rename OLD=NEW ...] [--json]',
    summary:
      "read what other programs recorded (OpenTelemetry, Inspect, LangGraph, LangSmith, Langfuse, conversations), or the C3 authors' buckets, as a run",
    run: async (...given) => (await import('./exchange.ts')).importFile(...given),
  },
  record: {
    usage:
      'record [--upstream URL | --model DIR | --task NAME] [--answer TEXT] [--mask-secrets] [--rename OLD=NEW ...] [--json] -- PROGRAM [ARGUMENT ...]',
    summary:
      'run your own program and store what its agents say as it happens; its calls go on to its server (OPENAI_BASE_URL), or to a model that is served here',
    run: async (...given) => (await import('./record.ts')).record(...given),
  },
  mcp: {
    usage: 'mcp',
    summary: 'serve the store to an assistant (Model Context Protocol over standard input and output)',
    run: async (...given) => (await import('./mcp.ts')).mcp(...given),
  },
  credit: {
    usage: 'credit --estimator NAME',
    summary: `JSONL {id, alternatives: [{returns}]} -> credits; ${CREDIT_ESTIMATORS.join(', ')}`,
    onlyReads: always,
    run: async (...given) => (await import('./measures.ts')).credit(...given),
  },
  grade: {
    usage:
      'grade --kind math|python [--grader strict|lenient|fraction] [--backend bundled|python3] [--blocks first|last|all]',
    summary:
      'JSONL {id, gold, prediction} or {id, code, tests | test + entryPoint, setup?} -> {id, score, rule, masked?}',
    run: async (...given) => (await import('./measures.ts')).grade(...given),
  },
  generate: {
    usage: 'generate --model DIR [--adapter DIR] [--greedy] [--max-new N] [--seed N] [--thinking]',
    summary: 'JSONL {id, text|ids|messages} -> {id, ids, text}; --thinking lets a chat model reason first',
    run: async (...given) => (await import('./models.ts')).generate(...given),
  },
  score: {
    usage: 'score --model DIR [--adapter DIR]',
    summary: 'JSONL {id, prompt, completion} (token ids) -> {id, logprobs, sum}',
    run: async (...given) => (await import('./models.ts')).score(...given),
  },
  serve: {
    usage: 'serve [--model DIR [--adapter DIR] | --task NAME] [--name NAME] [--port N] [--json]',
    summary:
      'a model at an OpenAI-compatible protocol on this machine, exact for a seed; the token is printed, or that of C3_SERVE_TOKEN',
    run: async (...given) => (await import('./serve.ts')).serve(...given),
  },
  model: {
    usage: 'model FOLDER [--test] [--json]',
    summary: 'describe a model folder; --test loads and tests it',
    run: async (...given) => (await import('./models.ts')).modelCommand(...given),
  },
  plan: {
    usage: 'plan [CONFIG] [--override k=v ...] [--rho [--questions N] [--alternatives J] [--replays C]] [--json]',
    summary:
      'the memory, the highest cost and the time of a run; --rho also measures what each message decides, and predicts the variance of C3 against MAGRPO',
    run: async (...given) => (await import('./models.ts')).planCommand(...given),
  },
  convert: {
    usage: 'convert FILE [--override k=v ...] [--json]',
    summary:
      'a YAML of the published MAGRPO scripts as a configuration of C3, with what differs; `c3 run FILE` does the same itself',
    onlyReads: always,
    run: async (...given) => (await import('./convert.ts')).convert(...given),
  },
  doctor: {
    usage: 'doctor [--all] [--copy FILE] [--json]',
    summary:
      'devices, versions, self-test and store health; --all checks the hash of every row, --copy copies intact rows to a new store',
    run: async (...given) => (await import('./measures.ts')).doctor(...given),
  },
  bench: {
    usage: 'bench SUITE [--quick] [--config FILE] [--device NAME] [--out DIR] [--continue FILE] [--json]',
    summary: `measure: ${SUITE_NAMES.join(', ')}`,
    run: async (...given) => (await import('./measures.ts')).bench(...given),
  },
};
