/** Upper bounds of the work for a role's server, and the rest of its spending limit, shown before the work begins. */

export interface EndpointCost {
  readonly role: string;
  /** Most requests, without failed attempts. */
  readonly requests: number;
  /** Most tokens of prompts and answers, with at most one token for each byte of a prompt. */
  readonly tokens: number;
  /** Largest cost of these tokens; 0 if no price is known. */
  readonly money: number;
  /** Earlier spending of the run and its replays. */
  readonly spent: { readonly tokens: number; readonly money: number };
  /** The spending limit of the run and its replays together; null if there is none. */
  readonly limit: { readonly tokens: number | null; readonly money: number | null };
  /** True if all of its addresses are on this machine. */
  readonly local: boolean;
}

/** What servers charged for requests. */
export interface ServerCost {
  readonly prompt: number;
  readonly completion: number;
  /** Null if the price of some of the tokens is not known. */
  readonly money: number | null;
}

export const NO_SERVER_COST: ServerCost = { prompt: 0, completion: 0, money: 0 };

/** Decimals of a sum of money, so that it does not depend on the order of the requests. */
const MONEY_DECIMALS = 12;

export const addServerCosts = (one: ServerCost, other: ServerCost): ServerCost => ({
  prompt: one.prompt + other.prompt,
  completion: one.completion + other.completion,
  money: one.money === null || other.money === null ? null : Number((one.money + other.money).toFixed(MONEY_DECIMALS)),
});

/** Describes what servers charged: `1,234 tokens (cost 0.00123)`. */
export function describeServerCost({ prompt, completion, money }: ServerCost): string {
  const tokens = prompt + completion;
  const cost = tokens === 0 ? '' : money === null ? ' (no price is known)' : ` (cost ${formatMoney(money)})`;
  return `${whole(tokens)} tokens${cost}`;
}

/** What the servers of a role charged so far. */
export interface SpentSoFar {
  readonly calls: number;
  readonly prompt: number;
  readonly completion: number;
  /** The cost of the tokens whose price was known. */
  readonly money: number;
  /** The other tokens. */
  readonly unpriced: { readonly prompt: number; readonly completion: number };
}

export const NOTHING_SPENT: SpentSoFar = {
  ...{ calls: 0, prompt: 0, completion: 0, money: 0 },
  unpriced: { prompt: 0, completion: 0 },
};

/** Limits that replace those of a configuration; a missing one stays. */
export interface SpendingChoice {
  readonly tokens?: number;
  readonly money?: number;
}

const whole = (value: number): string => value.toLocaleString('en-US');
/** Formats an amount of money with three significant digits. */
export const formatMoney = (value: number): string => String(Number(value.toPrecision(3)));

/** Writes one sentence: the most requests, tokens and money, and the spent part of the limit. */
export function describeCost({ role, requests, tokens, money, spent, limit }: EndpointCost): string {
  const most = `${whole(tokens)} tokens${money > 0 ? ` and ${formatMoney(money)} of money` : ''}`;
  const limits = [
    ...(limit.tokens === null ? [] : [`${whole(spent.tokens)} of ${whole(limit.tokens)} tokens`]),
    ...(limit.money === null ? [] : [`${formatMoney(spent.money)} of ${formatMoney(limit.money)} of money`]),
  ];
  const limited =
    limits.length === 0
      ? 'no spending limit is set'
      : `spent of the limit of the run and its replays: ${limits.join(', ')}`;
  return `At most ${whole(requests)} requests to the endpoint of the role ${role}, ${most}; ${limited}.`;
}

/** Adds costs by role. */
export function sumCostsByRole(costs: readonly EndpointCost[]): EndpointCost[] {
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
