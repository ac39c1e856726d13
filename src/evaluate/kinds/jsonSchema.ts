import { readSchema } from '../jsonSchema.ts';
import { findUnusableAnswer, type EvaluatorKind } from '../kind.ts';

export const jsonSchema = {
  name: 'json-schema',
  words: 'The message, or its block fenced as JSON, must satisfy the JSON Schema in the answer.',
  runsCode: false,
  fault: (problems) =>
    findUnusableAnswer('json-schema', 'a JSON Schema', problems, (text) => {
      const found = readSchema(text);
      return typeof found === 'string' ? found : null;
    }),
  make: () => ({
    name: 'json-schema',
    evaluate: ({ answer, uid }, text) => {
      const check = readSchema(answer);
      return Promise.resolve(
        typeof check === 'string'
          ? { score: null, rule: 'no-gold', masked: `The answer of problem ${uid} is no JSON Schema: ${check}.` }
          : check(text),
      );
    },
  }),
} as const satisfies EvaluatorKind;
