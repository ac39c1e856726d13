/** The keys of a role's policy in a run configuration. */
import { z } from 'zod';
import { POLICY_KINDS } from '../../shared/rolePolicies.ts';
import { described, positive } from './configKeys.ts';

/** Rows of one script, and characters of one answer. */
const MOST_ANSWERS = 1000;
const MOST_CHARACTERS = 20_000;

/** What answers for one role. */
export const rolePolicySchema = z.strictObject({
  kind: described(POLICY_KINDS).describe('What answers for the role.'),
  answers: z
    .array(
      z.strictObject({
        answer: z.string().max(MOST_CHARACTERS).describe('What the role says.'),
        question: z.string().min(1).max(MOST_CHARACTERS).optional().describe('Only to this question.'),
        turn: positive.max(MOST_ANSWERS).optional().describe('Only the n-th time that the role speaks, from 1.'),
        context_key: z
          .string()
          .regex(/^\d{1,19}$/u, 'must be a context key, digits in quotes')
          .optional()
          .describe('Only in the context of this key, in quotes; the details of a message show it.'),
      }),
    )
    .min(1)
    .max(MOST_ANSWERS)
    .describe('The first row whose conditions all hold gives the answer; a row without conditions always does.'),
});
