/** Keys that a server repeats are taken out of what it says, before that is stored or shown. */
import { masked } from '../../logs/secrets.ts';
import { exchange, type Exchange } from '../../policy/endpoint/exchange.ts';
import { EndpointFailure } from '../../policy/endpoint/failure.ts';
import type { Reply } from '../../policy/endpoint/reply.ts';

const MASK = '***';
/** What servers without keys are given (`none`, `EMPTY`) are words of their answers, and no secrets. */
const SHORTEST_KEY = 8;

/**
 * Asks once, as `exchange` does. The key that was sent is taken out of the answer, and out of the words of a failure
 * whatever else looks like a key.
 * @param ask how the server is asked; over HTTP unless given
 * @throws EndpointFailure; CancelledError
 */
export async function exchangeWithoutKey(
  request: Exchange,
  signal: AbortSignal,
  ask: typeof exchange = exchange,
): Promise<Reply> {
  const { key } = request;
  try {
    const reply = await ask(request, signal);
    return key === null || key.length < SHORTEST_KEY ? reply : withoutKey(reply, key);
  } catch (error) {
    if (error instanceof EndpointFailure) {
      throw new EndpointFailure(error.kind, masked(error.message).text, error);
    }
    throw error;
  }
}

function withoutKey(reply: Reply, key: string): Reply {
  const model = reply.model?.replaceAll(key, MASK) ?? null;
  if (!reply.text.includes(key)) {
    return { ...reply, model };
  }
  // The tokens say the key as the text does.
  return { ...reply, model, text: reply.text.replaceAll(key, MASK), tokens: null, logprobs: null };
}
