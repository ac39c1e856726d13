import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { build } from 'esbuild';
import { parse } from 'yaml';
import { listEntries, findMissingPaths } from '../../../../src/extension/configuration/disk.ts';
import {
  findHover,
  listWrittenPaths,
  findSuggestions,
  type Suggestions,
} from '../../../../src/extension/configuration/help.ts';
import { summarizeKey, formatConfigValue } from '../../../../src/extension/configuration/keyWords.ts';
import { CONFIGURATION, findConfigKey, type ConfigKey } from '../../../../src/extension/configuration/keys.ts';
import { createTemplate } from '../../../../src/extension/configuration/template.ts';
import { DEVICE_REQUESTS } from '../../../../src/shared/devices.ts';
import { checkConfig } from '../../../../src/training/config/checkConfig.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { METHOD_NAMES } from '../../../../src/training/methods/methods.ts';

/** All keys below one, its own not among them. */
const allKeys = (key: ConfigKey = CONFIGURATION): readonly ConfigKey[] =>
  key.keys.flatMap((inner) => [inner, ...allKeys(inner)]);

/** What is offered at the `|` of a text. */
function offered(text: string): Suggestions | null {
  const offset = text.indexOf('|');
  return findSuggestions(text.replace('|', ''), offset);
}

const labels = (text: string): string[] => offered(text)?.items.map(({ label }) => label) ?? [];
const snippet = (text: string, label: string): string | undefined =>
  offered(text)?.items.find((item) => item.label === label)?.snippet;

/** Sections that are left out unless they are named. */
const ALL_SECTIONS =
  'adapter: {per: role}\nbegin: {run: a, replace: {role: b, from: {run: c}}}\ntask: {train_file: a.jsonl, split: {}}\nmethod: magrpo\nmagrpo: {}\nexternal: {}\n';
/** It does not go with external, whose feedback executes programs. */
const SCORER = 'evaluator: command\nscorer: {command: [a]}\n';
const JUDGE =
  'evaluator: judge\nscorer: {rubric: a, labels: a.jsonl, judge: {endpoint: "https://a.example/v1", model_name: a}}\n';

function leaves(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [prefix];
  }
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, prefix === '' ? key : `${prefix}.${key}`));
}

describe('the words of the keys', () => {
  it('are there for every key and every name of a value', () => {
    const keys = allKeys();
    for (const key of keys) {
      assert.match(key.description, /^\p{L}.{10,299}\.$/u, `${key.path} has no words, or they are no sentence`);
      const named = key.item ?? key;
      if (named.kind === 'choice') {
        assert.ok(named.choices.size > 1, key.path);
      }
      for (const [name, words] of named.choices) {
        assert.match(words, /^\S.{3,199}\.$/u, `${key.path}: ${name}`);
      }
    }
    assert.deepEqual([...(findConfigKey(['method'])?.choices.keys() ?? [])], METHOD_NAMES);
  });

  it('cover the configuration as it is read, key by key', () => {
    const known = allKeys()
      .filter(({ kind }) => kind !== 'section')
      .map(({ path }) => path);
    // The judge has the keys of a policy, which has none that all have.
    const there = new Set(
      [ALL_SECTIONS, SCORER, JUDGE]
        .flatMap((text) => leaves(readConfig(text, 'x')))
        .filter((path) => !path.startsWith('scorer.judge.')),
    );
    // Sections that are null in one of the two.
    const sections = new Set(
      [...there].flatMap((path) =>
        path
          .split('.')
          .slice(0, -1)
          .map((_, at, all) => all.slice(0, at + 1).join('.')),
      ),
    );
    assert.deepEqual(known.toSorted(), [...there].filter((path) => !sections.has(path)).toSorted());
  });

  it('name the defaults that hold', () => {
    for (const key of allKeys()) {
      // There is no section begin without its run and role.
      if (
        key.kind === 'section' ||
        [
          ...['scorer.command', 'scorer.rubric', 'scorer.labels'],
          ...['begin.run', 'begin.replace.role', 'begin.replace.from.run'],
        ].includes(key.path)
      ) {
        continue;
      }
      const own = new Map([
        ['adapter', 'adapter: {}\n'],
        ['scorer', SCORER],
      ]);
      const section = own.get(key.path.split('.')[0] ?? '') ?? ALL_SECTIONS;
      const config = readConfig(
        /^(?:adapter|begin|magrpo|external|scorer|task\.split)\./u.test(key.path) ? section : '',
        'x',
      );
      assert.deepEqual(
        key.path
          .split('.')
          .reduce<unknown>((value, part) => new Map<string, unknown>(Object.entries(value ?? {})).get(part), config),
        key.default,
        key.path,
      );
    }
  });

  it('say what may be written', () => {
    const summary = (...path: string[]): string => summarizeKey(findConfigKey(path) ?? assert.fail(path.join('.')));
    assert.equal(summary('steps'), 'whole number, from 0; default 36');
    assert.equal(summary('device', 'threads'), 'whole number, above 0, at most 64; default 2');
    assert.equal(summary('sampling', 'top_p'), 'number, above 0, at most 1; default 1');
    assert.equal(summary('memory', 'limit_gb'), 'number, above 0, or null; default null');
    assert.equal(summary('magrpo', 'reward_shift'), 'number, or null; default null');
    assert.equal(summary('fanout'), 'list of whole numbers, above 0; default [2, 4]');
    assert.equal(summary('model'), 'path of a folder; default bundled');
    assert.equal(summary('ppo'), 'section');
    assert.equal(findConfigKey(['ppo', 'kl_against'])?.default, 'reference');
  });

  it('write values as YAML reads them', () => {
    for (const value of [
      'cpu',
      'math-lenient',
      'two words',
      'null',
      'True',
      '',
      '1',
      'a: b',
      '# x',
      [1, 'x, y'],
      null,
      1e-7,
      false,
    ]) {
      assert.deepEqual(parse(formatConfigValue(value)), value);
    }
  });
});

describe('suggestions', () => {
  it('offer the keys of the section that the cursor is in, less those that are there', () => {
    assert.deepEqual(
      labels('|'),
      CONFIGURATION.keys.map(({ name }) => name),
    );
    assert.ok(!labels('steps: 3\n|\nseed: 1\n').some((name) => name === 'steps' || name === 'seed'));
    assert.deepEqual(labels('chat:\n  |'), ['template', 'thinking']);
    assert.deepEqual(labels('seed: 1\nchat:\n  thinking: true\n  te|\nsteps: 3\n'), ['template']);
    assert.deepEqual(labels('chat:\n\n    |\n\nsteps: 3\n'), ['template', 'thinking']);
    assert.deepEqual(labels('chat: {|}'), ['template', 'thinking']);
    assert.deepEqual(labels('chat: {thinking: false, te|'), ['template']);
    assert.deepEqual(labels('chat: {\r\n  te|\r\n}\r\n'), ['template', 'thinking']);
    assert.deepEqual(labels('sampling:\n  temperature: 1\n|\n').slice(0, 2), ['title', 'method']);
  });

  it('offer the names of a value, and its default', () => {
    assert.deepEqual(labels('method: |'), METHOD_NAMES);
    assert.deepEqual(labels('method: m|\nsteps: 3\n'), METHOD_NAMES);
    assert.deepEqual(labels('method:\n  |'), METHOD_NAMES);
    assert.deepEqual(labels('chat: {thinking: |}'), ['true', 'false']);
    assert.deepEqual(labels('adapter:\n  target_modules:\n    - |').slice(0, 2), ['q_proj', 'k_proj']);
    assert.deepEqual(labels('adapter:\n  target_modules: [q_proj, |]').slice(0, 2), ['q_proj', 'k_proj']);
    assert.deepEqual(labels('device: |'), DEVICE_REQUESTS);
    assert.deepEqual(labels('memory:\n  limit_gb: |'), ['null']);
    assert.deepEqual(
      offered('method: |')
        ?.items.filter(({ detail }) => detail === 'default')
        .map(({ label }) => label),
      ['c3'],
    );
  });

  it('offer the keys under a name of the user, and of the rows of a list', () => {
    assert.deepEqual(labels('policies:\n  checker:\n    |\n'), [
      'kind',
      'answers',
      'snapshot',
      'run',
      'adapter',
      'model',
      'endpoint',
      'vscode',
      'model_name',
      'api',
      'stream',
      'concurrency',
      'requests_per_minute',
      'retries',
      'time_limit',
      'prices',
      'spending',
      'learns',
    ]);
    assert.deepEqual(labels('policies:\n  checker:\n    kind: |\n'), [
      'scripted',
      'snapshot',
      'adapter',
      'endpoint',
      'vscode',
      'model',
      'own',
    ]);
    assert.match(
      findHover('policies: {checker: {model: other}}', 10 + 11)?.markdown ?? '',
      /another model in the Hugging Face layout/,
    );
    const row = 'policies:\n  checker:\n    kind: scripted\n    answers:\n      - answer: a\n        |\n';
    assert.deepEqual(labels(row), ['question', 'turn', 'context_key']);
    assert.match(
      findHover('policies: {checker: {kind: scripted}}', 10 + 11)?.markdown ?? '',
      /A policy of this kind answers for the role/,
    );
  });

  it('offer nothing where nothing is known', () => {
    for (const text of [
      '# me|',
      'seed: 1 |',
      'title: The |',
      'steps: 3\n    |',
      'fanout: [|]',
      'fanout: |',
      'steps: |',
      'steps: 3|',
      'title: |',
      'nope:\n  |',
      'steps: 3 # me|',
    ]) {
      assert.deepEqual(labels(text), [], text);
    }
  });

  it('write what goes on', () => {
    assert.equal(snippet('st|', 'steps'), 'steps: ${1:36}');
    assert.equal(snippet('st|: 4', 'steps'), 'steps');
    assert.equal(snippet('|', 'task'), 'task:\n\t$0');
    assert.equal(snippet('|', 'method'), 'method: ');
    assert.equal(snippet('|', 'fanout'), 'fanout: [${1:2, 4}]');
    assert.equal(snippet('method:|', 'mappo'), ' mappo');
    assert.equal(snippet('method: |', 'mappo'), 'mappo');
    const { start, end } = offered('seed: 1\nmeth|od: c3\n') ?? assert.fail();
    assert.deepEqual([start, end], [8, 14]);
  });

  it('know a path that is being written', () => {
    assert.deepEqual(offered('model: models/Qw|')?.path, { names: 'folder', typed: 'models/Qw', space: false });
    assert.deepEqual(offered('task:\n  train_file: "data/|"\n')?.path, { names: 'rows', typed: 'data/', space: false });
    assert.equal(offered('method: |')?.path, null);
  });
});

describe('hovers', () => {
  const hover = (text: string): string => findHover(text.replace('|', ''), text.indexOf('|'))?.markdown ?? '';
  it('say what a key means, its bounds and its default', () => {
    assert.match(
      hover('seed: 1\nppo:\n  ep|ochs: 3\n'),
      /^\*\*ppo\.epochs\*\*\n\nA step makes this many passes over .*\n\nWhole number, above 0\. Default: `1`\.$/u,
    );
    assert.match(hover('ppo:\n  epochs: 3|\n'), /^\*\*ppo\.epochs\*\*/u);
    assert.match(hover('me|thod: c3\n'), /- `magrpo`: Compares whole episodes/u);
    assert.match(hover('sampl|ing: {}\n'), /- `temperature`: /u);
  });

  it('say what a name means', () => {
    assert.match(hover('method: mag|rpo\n'), /^\*\*method: magrpo\*\*\n\nCompares whole episodes with the mean/u);
    assert.match(hover('device: web|gpu\n'), /^\*\*device\.provider: webgpu\*\*/u);
    assert.match(hover('adapter: {target_modules: [q_|proj]}\n'), /Queries/u);
  });

  it('say nothing elsewhere', () => {
    for (const text of [
      '# ste|ps\n',
      'no|pe: 1\n',
      '|',
      'steps: 3\n\n|',
      '|\n\nsteps: 3\n',
      'seed:|  \n# x\nsteps: 3\n',
    ]) {
      assert.equal(hover(text), '', text);
    }
  });
});

describe('paths', () => {
  it('are those that the configuration names, not the names of the product', () => {
    const text = 'model: models/q\nprotocol: bundled\ntask: {train_file: a.jsonl, evaluation_file: null}\n';
    assert.deepEqual(
      listWrittenPaths(text).map(({ start, end, names, path }) => [text.slice(start, end), names, path]),
      [
        ['models/q', 'folder', 'models/q'],
        ['a.jsonl', 'rows', 'a.jsonl'],
      ],
    );
    assert.deepEqual(
      listWrittenPaths('policies: {critic: {model: other}, judge: {adapter: lora}}\n').map(({ path }) => path),
      ['other', 'lora'],
    );
    assert.deepEqual(listWrittenPaths('model: [unfinished\n'), []);
  });

  it('are offered from the disk by what fits, and said to be missing', async () => {
    const base = await mkdtemp(join(tmpdir(), 'c3-paths-'));
    try {
      await mkdir(join(base, 'data', 'node_modules'), { recursive: true });
      for (const name of ['b.jsonl', 'a.CSV', 'notes.md', '.hidden.jsonl', 'needs: quotes.jsonl']) {
        await writeFile(join(base, 'data', name), '');
      }
      await mkdir(join(base, 'data', 'zoo'));
      await symlink(join(base, 'data', 'zoo'), join(base, 'data', 'linked'));
      const names = async (typed: string, what: 'rows' | 'folder'): Promise<string[]> =>
        (await listEntries(base, typed, what)).map(({ name, folder }) => `${name}${folder ? '/' : ''}`);
      assert.deepEqual(await names('data/', 'rows'), ['linked/', 'zoo/', 'a.CSV', 'b.jsonl']);
      assert.deepEqual(await names('data/b', 'folder'), ['linked/', 'zoo/']);
      assert.deepEqual(await names('', 'rows'), ['data/']);
      assert.deepEqual(await names('nowhere/', 'rows'), []);
      const absent = await findMissingPaths(
        base,
        listWrittenPaths('model: data\ntask: {train_file: data, evaluation_file: data/b.jsonl}\nprotocol: p.json\n'),
      );
      assert.deepEqual(
        absent.map(({ path, message }) => [path, message]),
        [
          ['data', `There is no such file: ${join(base, 'data')}`],
          ['p.json', `There is no such file: ${join(base, 'p.json')}`],
        ],
      );
    } finally {
      await rm(base, { recursive: true });
    }
  });
});

describe('the template of a new configuration', () => {
  it('can be run as it stands, and with every remark taken away from its keys', () => {
    const text = createTemplate();
    const { title: _, ...defaults } = readConfig('', 'x');
    assert.deepEqual(checkConfig(text), []);
    assert.deepEqual({ ...readConfig(text, 'x'), title: undefined }, { ...defaults, title: undefined });
    const opened = text.replaceAll(/^# (\w+: [^\n]*)$/gmu, (line, key: string) =>
      CONFIGURATION.keys.some(({ name }) => key.startsWith(`${name}: `)) ? key : line,
    );
    assert.deepEqual({ ...readConfig(opened, 'x'), title: undefined }, { ...defaults, title: undefined });
    for (const { name } of CONFIGURATION.keys) {
      assert.match(opened, new RegExp(`^${name}: `, 'mu'));
    }
    assert.ok(
      text
        .split('\n')
        .filter((line) => !/^# \w+: /u.test(line))
        .every((line) => line.length <= 105),
    );
  });
});

describe('what is loaded when', () => {
  const inputs = async (entry: string): Promise<string[]> => {
    const { metafile } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      metafile: true,
      platform: 'node',
      format: 'cjs',
      external: ['vscode', 'better-sqlite3', 'onnxruntime-node', './service.ts'],
      logLevel: 'silent',
    });
    return [
      ...Object.keys(metafile.inputs),
      ...Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path)),
    ];
  };

  it('the extension begins without parser and schema', async () => {
    const files = await inputs('src/extension/extension.ts');
    assert.ok(files.includes('src/extension/configuration/language.ts'));
    assert.deepEqual(
      files.filter((path) => /node_modules\/(?:zod|yaml)\/|src\/(?:training|team)\//u.test(path)),
      [],
    );
  });

  it('the help for configurations brings neither engine, runtime nor store', async () => {
    // functionSource.ts, which descriptors of evaluators use, takes texts apart. The others count a stored vote again
    // for the transcript, by evaluators that compare answers; what would run code is not among them.
    const pure = new Set([
      ...[
        'answer',
        'chain',
        'evaluator',
        'examine',
        'jsonSchema',
        'lost',
        'named',
        'pattern',
        'puzzleEvaluators',
        'tolerance',
      ].map((name) => `src/evaluate/${name}.ts`),
      ...['functionSource', 'rules', 'value'].map((name) => `src/evaluate/python/${name}.ts`),
      'src/replay/countedVote.ts',
      'src/runtime/random.ts',
    ]);
    const all = await inputs('src/extension/configuration/service.ts');
    const files = all.filter((path) => !pure.has(path));
    assert.ok(files.includes('src/training/config/checkConfig.ts'));
    // Descriptors of methods, estimators, evaluators and environments are words and pure functions, like the ladder.
    assert.deepEqual(
      files.filter((path) =>
        /src\/(?:engine|runtime|store|evaluate(?!\/(?:kind|points\.ts|ladder\.ts|math\/|puzzles\/|python\/code\.ts))|tasks|replay(?!\/(?:tree|jointTree|votes)\.ts)|policy)\/|better-sqlite3|onnxruntime/u.test(
          path,
        ),
      ),
      [],
    );
  });
});
