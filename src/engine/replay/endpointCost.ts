/** What a replay may ask of servers at most, said before it begins. */
import type { ReplayRequest } from '../../replay/request.ts';
import type { RolePolicies } from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import { decisionsAtMost } from '../../team/rounds.ts';

type Asked = Pick<ReplayRequest, 'alternatives' | 'replays' | 'text' | 'design'>;

/**
 * One sentence for each role that a server answers: requests at most, attempts apart, and what the spending limit lets
 * them cost.
 * @param position of the message that is replayed
 */
export function endpointCosts(
  { alternatives, replays, text, design }: Asked,
  protocol: Protocol,
  position: number,
  policies: RolePolicies = {},
): readonly string[] {
  const { occurrences, rounds } = protocol;
  const continued = design === 'paired' ? 2 * alternatives : (alternatives + (text === null ? 0 : 1) + 1) * replays;
  return Object.entries(policies).flatMap(([role, settings]) => {
    if (settings.kind !== 'endpoint') {
      return [];
    }
    const own = occurrences[position]?.role === role ? alternatives : 0;
    // Who speaks how often in an episode that unfolds is known only in its end.
    const later =
      rounds === undefined
        ? occurrences.filter((one) => one.position > position && one.role === role).length
        : decisionsAtMost(protocol);
    const { tokens, money } = settings.spending;
    const limits = [
      ...(tokens === null ? [] : [`${tokens.toLocaleString('en')} tokens`]),
      ...(money === null ? [] : [`${String(money)} of money`]),
    ];
    const limited =
      limits.length === 0 ? 'no spending limit is set' : `at most ${limits.join(' and ')} for all of them`;
    const requests = own + later * continued;
    return [`At most ${requests.toLocaleString('en')} requests to the endpoint of the role ${role}; ${limited}.`];
  });
}
