/** Evaluators whose criterion is in the answer: an exact text, a regular expression, a tolerance, a JSON Schema. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import type { Graded } from '../../../src/evaluate/evaluator.ts';
import { readSchema } from '../../../src/evaluate/jsonSchema.ts';
import { getEvaluatorKind, type EvaluatorName } from '../../../src/evaluate/kinds.ts';
import { compilePattern } from '../../../src/evaluate/kinds/pattern.ts';
import { parseTolerance } from '../../../src/evaluate/kinds/tolerance.ts';
import { makeEvaluator } from '../../../src/evaluate/named.ts';

const problem = (answer: string): Problem => ({
  uid: 'item',
  uidSha: 'ab',
  question: 'q',
  answer,
  source: 'test',
  level: null,
});

const graded = (name: EvaluatorName, answer: string, text: string): Promise<Graded> => {
  const unused = (): never => assert.fail('no code is run');
  const evaluator = makeEvaluator(name, 'mathematics', () => ({ grade: unused, functions: unused }));
  return evaluator.evaluate(problem(answer), text);
};

const fault = (name: EvaluatorName, answer: string): string | null =>
  getEvaluatorKind(name).fault([problem('1 +- 1'), problem(answer)].slice(name === 'tolerance' ? 0 : 1));

async function scores(name: EvaluatorName, answer: string, texts: Readonly<Record<string, 0 | 1>>): Promise<void> {
  assert.equal(fault(name, answer), null, answer);
  for (const [text, score] of Object.entries(texts)) {
    assert.equal((await graded(name, answer, text)).score, score, `${answer} of ${text}`);
  }
}

describe('exact', () => {
  it('compares whole messages but for white space around them', async () => {
    await scores('exact', 'Berlin', { Berlin: 1, ' Berlin\n': 1, berlin: 0, 'Berlin.': 0, 'in Berlin': 0 });
    // U+00E9 and e with U+0301 are one letter.
    await scores('exact', 'caf\u00e9', { 'cafe\u0301': 1, cafe: 0 });
  });

  it('refuses and masks blank answers', async () => {
    assert.match(fault('exact', ' ') ?? '', /needs a text in each answer.*problem "item" is not one \(it is blank\)/u);
    assert.equal((await graded('exact', ' ', ' ')).score, null);
  });
});

describe('pattern', () => {
  it('searches the message', async () => {
    await scores('pattern', String.raw`\b4[0-9]\b`, { 'it is 42.': 1, '142': 0, none: 0 });
    await scores('pattern', '(?i)^yes$', { YES: 1, 'yes and no': 0 });
  });

  it('takes linear time where backtracking would take exponential', async () => {
    // A backtracking engine needs 2^100000 steps here.
    await scores('pattern', '^(a+)+$', { [`${'a'.repeat(100_000)}b`]: 1, [`${'a'.repeat(99_999)}b`]: 0 });
  });

  it('refuses what cannot be compiled, in a sentence', async () => {
    assert.match(fault('pattern', '(a') ?? '', /needs a regular expression.*"item" is not one \(.*missing closing \)/u);
    assert.match(fault('pattern', '(?=a)') ?? '', /is not one \(.*\(\?=/u);
    assert.equal(compilePattern(''), 'it is empty');
    assert.match(String(compilePattern('a'.repeat(1001))), /more than 1000 characters/u);
    assert.equal((await graded('pattern', '(a', 'a')).score, null);
  });
});

describe('tolerance', () => {
  it('compares exactly, both ends within', async () => {
    await scores('tolerance', '3.14 +- 0.01', {
      '#### 3.13': 1,
      '#### 3.15': 1,
      '#### 3.1500000000000000001': 0,
      '#### 3.12': 0,
      'the answer is 22/7': 1,
      '#### pi': 0,
      '3.14': 0,
    });
  });

  it('takes a percentage as a share of the answer, whatever its sign', async () => {
    await scores('tolerance', '-250 ± 2%', { '#### -245': 1, '#### -255': 1, '#### -256': 0, '#### 250': 0 });
    await scores('tolerance', '0 +- 0', { '#### 0': 1, '#### 0.0000001': 0 });
  });

  it('refuses what has no tolerance', async () => {
    for (const text of ['', '3', '3 +- ', '3 +- -1', '3 +- 1 +- 1', 'x +- 1', '+- 1']) {
      assert.equal(parseTolerance(text), null, text);
    }
    assert.match(fault('tolerance', '3') ?? '', /"item" is not one \(it must have the form `3.14 \+- 0.01`/u);
    assert.equal((await graded('tolerance', '3', '#### 3')).score, null);
  });
});

describe('json-schema', () => {
  const SCHEMA = JSON.stringify({
    type: 'object',
    properties: {
      city: { type: 'string', format: 'date' },
      pattern: { $ref: '#/$defs/count' },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true },
    },
    required: ['city'],
    additionalProperties: false,
    $defs: { count: { type: 'integer', minimum: 0 } },
  });

  it('checks a message that is JSON or holds a block of it', async () => {
    await scores('json-schema', SCHEMA, {
      '{"city": "Paris", "pattern": 2, "tags": ["a", "b"]}': 1,
      'Here:\n```json\n{"city": "Paris"}\n```\nDone.': 1,
      '```\n{"city": "Paris"}\n```': 1,
      '```python\n{"city": "Paris"}\n```': 0,
      '{"city": 1}': 0,
      '{"city": "Paris", "pattern": -1}': 0,
      '{"city": "Paris", "tags": ["a", "a"]}': 0,
      '{"city": "Paris", "other": 1}': 0,
      '{}': 0,
      Paris: 0,
    });
    assert.match((await graded('json-schema', SCHEMA, '{"city": 1}')).rule, /^json-schema: .* at #/u);
    assert.equal((await graded('json-schema', SCHEMA, 'Paris')).rule, 'no-json');
  });

  it('knows no inherited properties', async () => {
    await scores('json-schema', '{"required": ["toString"]}', { '{}': 0, '{"toString": 1}': 1 });
    await scores('json-schema', '{"additionalProperties": false}', { '{"__proto__": {"a": 1}}': 0, '{}': 1 });
  });

  it('refuses schemas that it would not apply as they are written', () => {
    const refusal = (schema: unknown): unknown => readSchema(JSON.stringify(schema));
    assert.match(String(refusal({ pattern: 'a+' })), /has the keyword pattern, which is not supported/u);
    assert.match(String(refusal({ items: [{ anyOf: [{ patternProperties: {} }] }] })), /patternProperties/u);
    assert.match(String(refusal({ properties: { pattern: { pattern: 'a' } } })), /the keyword pattern/u);
    assert.equal(typeof refusal({ const: { pattern: 'a' } }), 'function');
    assert.match(String(refusal({ $ref: 'https://example.com/schema' })), /a reference of it leads nowhere/u);
    assert.match(String(refusal({ properties: { a: { $ref: '#/$defs/a' } } })), /a reference of it leads nowhere/u);
    assert.equal(typeof refusal({ properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: true } }), 'function');
    assert.match(String(refusal([])), /is not a JSON object/u);
    assert.match(fault('json-schema', '{') ?? '', /needs a JSON Schema .*\(it is not a JSON object\)/u);
  });

  it('scores what is too long or nested too deeply 0, and masks where there is no schema', async () => {
    const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const nested = '{"type": "array", "items": {"$ref": "#"}}';
    await scores('json-schema', nested, { [deep(10)]: 1, [deep(16_000)]: 0, '[1]': 0 });
    const long = `{"city": "${'x'.repeat(32_768)}"}`;
    assert.equal((await graded('json-schema', SCHEMA, long)).rule, 'no-json');
    assert.equal((await graded('json-schema', '{', '{}')).score, null);
  });
});
