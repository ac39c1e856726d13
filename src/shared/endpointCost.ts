/** What work may ask of the server of a role at most, and what its spending limit leaves: said before it begins. */

export interface EndpointCost {
  readonly role: string;
  /** Requests at most; attempts that failed are apart. */
  readonly requests: number;
  /** Tokens of prompts and answers at most: a byte of a prompt is a token at most. */
  readonly tokens: number;
  /** What these cost at most; 0 where no price is known. */
  readonly money: number;
  /** What the run and its replays have spent before. */
  readonly spent: { readonly tokens: number; readonly money: number };
  /** The most that they may spend together; null where nothing is said. */
  readonly limit: { readonly tokens: number | null; readonly money: number | null };
  /** Whether all of its addresses are on this machine. */
  readonly local: boolean;
}

/** Limits in the place of a configuration's; one that is missing stays. */
export interface SpendingChoice {
  readonly tokens?: number;
  readonly money?: number;
}

const whole = (value: number): string => value.toLocaleString('en-US');
/** As much of an amount as matters. */
export const moneyWords = (value: number): string => String(Number(value.toPrecision(3)));

/** One sentence: requests, tokens and money at most, and what is spent of the limit. */
export function costWords({ role, requests, tokens, money, spent, limit }: EndpointCost): string {
  const most = `${whole(tokens)} tokens${money > 0 ? ` and ${moneyWords(money)} of money` : ''}`;
  const limits = [
    ...(limit.tokens === null ? [] : [`${whole(spent.tokens)} of ${whole(limit.tokens)} tokens`]),
    ...(limit.money === null ? [] : [`${moneyWords(spent.money)} of ${moneyWords(limit.money)} of money`]),
  ];
  const limited =
    limits.length === 0
      ? 'no spending limit is set'
      : `spent of the limit of the run and its replays: ${limits.join(', ')}`;
  return `At most ${whole(requests)} requests to the endpoint of the role ${role}, ${most}; ${limited}.`;
}

/** Costs added up by role. */
export function summedCosts(costs: readonly EndpointCost[]): EndpointCost[] {
  return [...Map.groupBy(costs, ({ role }) => role).values()].map((own) =>
    own.reduce((sum, one) => ({
      ...one,
      local: sum.local && one.local,
      requests: sum.requests + one.requests,
      tokens: sum.tokens + one.tokens,
      money: sum.money + one.money,
    })),
  );
}
