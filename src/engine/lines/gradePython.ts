/** `c3 grade --kind python`: JSONL {id, code, tests | test + entryPoint, setup?} in, {id, score, rule, masked?} out. */

import { z } from 'zod';
import { beginsWithFence, extractFencedCode, type CodeBlocks } from '../../evaluate/python/code.ts';
import { PythonGrader, type PythonBackend } from '../../evaluate/python/grader.ts';
import { findBackendOnce } from '../../evaluate/python/native/native.ts';
import type { PassRule, PythonTests, PythonVerdict } from '../../evaluate/python/rules.ts';
import { unlessCancelled } from '../../shared/cancellation.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { SANDBOX_PLACES } from '../places.ts';
import type { LineGrader } from './gradeLines.ts';
import { readLine } from './lineModel.ts';

const MAX_TEXT = 10_000_000;
const text = z.string().max(MAX_TEXT);

const pythonSchema = z
  .object({
    id: z.union([z.string(), z.number()]),
    code: text,
    tests: z.array(text).min(1).max(10_000).optional(),
    test: text.optional(),
    entryPoint: z
      .string()
      .regex(/^[A-Za-z_]\w{0,199}$/, 'not a function name')
      .optional(),
    setup: text.optional(),
    uidSha: z.string().max(200).optional(),
  })
  .refine(({ tests, test }) => tests !== undefined || test !== undefined, 'tests are missing');

const PYTHON_FORM =
  '{"id": ..., "code": "...", "tests": ["assert ..."], "setup"?: "..."} or {"id": ..., "code": "...", "test": "def check(candidate): ...", "entryPoint": "name"}';

/**
 * Grades Python code by unit tests; the rules are in evaluate/python/rules.ts. Code that compiles is
 * graded as it is, prompt and completion together. From any other text, the fenced blocks are graded
 * that a run would take from the same message (extractCode), and the rule begins with
 * `fenced-block: `.
 */
export function createPythonLineGrader(
  grader: PythonGrader,
  blocks: CodeBlocks,
): LineGrader<z.output<typeof pythonSchema>> {
  return {
    understand: (line, place) => readLine(pythonSchema, line, place, PYTHON_FORM),
    grade: (requests) =>
      Promise.all(
        requests.map(async ({ id, code, tests = [], test = '', entryPoint = null, setup = '', uidSha = null }) => {
          const { score, rule, masked } = await gradeMessage(
            grader,
            code,
            blocks,
            { tests, test, entryPoint, setup },
            uidSha,
          );
          return { id, score, rule, ...(masked === null ? {} : { masked }) };
        }),
      ),
  };
}

/** A verdict whose rule also tells the place of the code. */
type MessageVerdict = Pick<PythonVerdict, 'score' | 'masked'> & { readonly rule: string };

/**
 * Grades a program, or the fenced block of a message that is not a program. A program with fences in
 * its strings compiles.
 */
async function gradeMessage(
  grader: PythonGrader,
  text: string,
  blocks: CodeBlocks,
  tests: PythonTests,
  uid: string | null,
): Promise<MessageVerdict> {
  const whole = beginsWithFence(text) ? null : await grader.grade(text, tests, uid);
  if (whole !== null && whole.rule !== 'does-not-compile' && whole.rule !== 'code-limit') {
    return whole;
  }
  const block = extractFencedCode(text, blocks);
  if (block === null) {
    return whole ?? grader.grade(text, tests, uid);
  }
  const verdict = await grader.grade(block, tests, uid);
  return { ...verdict, rule: `fenced-block: ${verdict.rule}` };
}

/**
 * Returns the rule that --grader names: with strict, all tests must pass; fraction scores their share.
 * @throws C3Error('input') if it does not grade Python
 */
export function findPassRule(name: string): PassRule {
  if (name === 'strict' || name === 'fraction') {
    return name;
  }
  throw new C3Error(
    'input',
    `c3 grade --kind python knows --grader strict and fraction, not ${JSON.stringify(name.slice(0, 40))}.`,
  );
}

/**
 * Runs work with a Python grader, whose processes end with the work in any case.
 * @throws C3Error('engine') if the backend cannot be isolated; CancelledError
 */
export async function withPythonGrader<Result>(
  passRule: PassRule,
  backend: PythonBackend,
  work: (grader: PythonGrader) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  if (backend === 'python3') {
    await unlessCancelled(findBackendOnce(), signal).catch((error: unknown) => {
      throw error instanceof CancelledError
        ? error
        : new C3Error('engine', `${toErrorMessage(error)} --backend bundled needs nothing on this machine.`);
    });
  }
  const grader = new PythonGrader({ places: SANDBOX_PLACES, passRule, backend });
  try {
    return await unlessCancelled(work(grader), signal);
  } finally {
    grader.close();
  }
}
