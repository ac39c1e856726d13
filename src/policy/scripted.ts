/** A role that answers from a table, for tests and for answers that people wrote. */

import { CancelledError, C3Error } from '../shared/errors.ts';
import type { Script, ScriptRow } from '../shared/rolePolicies.ts';
import { hashContext } from '../team/contextKey.ts';
import type { PolicyAnswer, PolicyControl, PolicyRequest, RolePolicy, TypedRequest } from './policy.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The fields by which a row may be looked up. */
type Asked = Pick<PolicyRequest, 'role' | 'context' | 'question' | 'turn' | 'place'>;

/**
 * Answers each request with the first matching row of a table, so the same request always gets the
 * same answer. Nothing is computed: all tokens of an answer count as reused, and a prompt has none
 * because no model reads it.
 */
export class ScriptedPolicy implements RolePolicy {
  /** Rows by their most specific condition, each list in the order of the table. */
  private readonly byContext: ReadonlyMap<string, readonly Placed[]>;
  private readonly byQuestion: ReadonlyMap<string, readonly Placed[]>;
  private readonly others: readonly Placed[];
  private readonly tokenizer: Pick<Tokenizer, 'encode'> | null;

  /** @param tokenizer encodes the answers; with null they have no tokens */
  constructor({ answers }: Script, tokenizer: Pick<Tokenizer, 'encode'> | null) {
    this.tokenizer = tokenizer;
    const placed = answers.map((row, place): Placed => ({ row, place }));
    const rest = placed.filter(({ row }) => row.context_key === undefined);
    this.byContext = Map.groupBy(
      placed.filter(({ row }) => row.context_key !== undefined),
      ({ row }) => row.context_key ?? '',
    );
    this.others = rest.filter(({ row }) => row.question === undefined);
    this.byQuestion = Map.groupBy(
      rest.filter(({ row }) => row.question !== undefined),
      ({ row }) => row.question?.trim() ?? '',
    );
  }

  /**
   * Answers requests.
   * @throws C3Error('input') that names the context if no row matches; CancelledError
   */
  async answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]> {
    const answers: PolicyAnswer[] = [];
    for (const [index, request] of requests.entries()) {
      if (control.signal.aborted) {
        throw new CancelledError();
      }
      const answer = await this.said(this.textFor(request), 'end');
      answers.push(answer);
      control.onAnswer?.(index, answer);
    }
    return answers;
  }

  typed({ text }: TypedRequest): Promise<PolicyAnswer> {
    return this.said(text, 'typed');
  }

  /** Returns false if no row can match a question at a turn (from 0), whatever the context. */
  mayAnswer(question: string, turn: number): boolean {
    return this.byContext.size > 0 || this.candidates(null, { question, turn }).length > 0;
  }

  private async said(text: string, finish: 'end' | 'typed'): Promise<PolicyAnswer> {
    const tokens = (await this.tokenizer?.encode(text)) ?? new Int32Array();
    const none = { prompt: new Int32Array(), logprobs: new Float32Array() };
    return { text, tokens, finish, reusedTokens: tokens.length, ...none };
  }

  private textFor(request: Asked): string {
    const { role, context, turn = 0, place = 'a context' } = request;
    // The key is a hash of the whole context, which is not needed if no row names one.
    const [first] = this.candidates(this.byContext.size === 0 ? null : hashContext(context).key, request);
    if (first === undefined) {
      throw new C3Error(
        'input',
        `The script of the role ${role} has no answer for ${place} (context key ${hashContext(context).key}, turn ${turn + 1}); add one to policies.${role}.answers, or a last one without conditions.`,
      );
    }
    return first.row.answer;
  }

  /** Returns the matching rows in the order of the table. */
  private candidates(key: string | null, { question, turn = 0 }: Pick<Asked, 'question' | 'turn'>): Placed[] {
    const asked = question?.trim();
    return [
      ...(key === null ? [] : (this.byContext.get(key) ?? [])),
      ...(asked === undefined ? [] : (this.byQuestion.get(asked) ?? [])),
      ...this.others,
    ]
      .filter(({ row }) => row.turn === undefined || row.turn === turn + 1)
      .filter(({ row }) => row.question === undefined || row.question.trim() === asked)
      .sort((a, b) => a.place - b.place);
  }
}

interface Placed {
  readonly row: ScriptRow;
  /** Its index in the table. */
  readonly place: number;
}
