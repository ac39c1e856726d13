/** Reads the protocol of a stored run for its diagram. */

import { isRecord } from '../../../shared/guard.ts';
import type { ProtocolGraph } from '../../../shared/transcript/protocolGraph.ts';
import type { StoreReader } from '../../../store/read/reader.ts';
import { loadService, type Service } from '../../configuration/load.ts';

/** Maximum number of occurrences of a protocol that is drawn. */
const MOST_NODES = 60;
/** Maximum length of a protocol's text that is read, in characters. */
const MOST_CHARACTERS = 1 << 16;

/** Returns the protocol of a run, or null if its recipe holds none that can be read and drawn. */
export type ProtocolReader = (reader: Pick<StoreReader, 'runConfig'>, run: string) => ProtocolGraph | null;

/** Loads the parser on demand, since only transcripts need it. */
export async function loadProtocolReader(): Promise<ProtocolReader> {
  const service = await loadService();
  return (reader, run) => readProtocolGraph(reader, run, service);
}

type Parser = Service['parseProtocol'];
type Order = NonNullable<ReturnType<Parser>['rounds']>['order'];

/** Returns true if each round is a single message by any of the roles. */
const isOneByOne = (order: Order | undefined): boolean => order === 'drawn' || order === 'chosen';

function readProtocolGraph(
  reader: Pick<StoreReader, 'runConfig'>,
  run: string,
  { parseProtocol, storedRounds }: Pick<Service, 'parseProtocol' | 'storedRounds'>,
): ProtocolGraph | null {
  try {
    const config: unknown = JSON.parse(reader.runConfig(run));
    if (
      !isRecord(config) ||
      typeof config['protocolText'] !== 'string' ||
      config['protocolText'].length > MOST_CHARACTERS
    ) {
      return null;
    }
    const source = typeof config['protocolSource'] === 'string' ? config['protocolSource'] : 'protocol';
    const graph = toProtocolGraph(parseProtocol(config['protocolText'], source, storedRounds(config['config'])));
    return graph.nodes.length > MOST_NODES ? null : graph;
  } catch {
    // The transcript is shown without the diagram.
    return null;
  }
}

/** Returns the diagram of a protocol: all occurrences, or one round with its environments. */
export function toProtocolGraph({ name, occurrences, rounds }: ReturnType<Parser>): ProtocolGraph {
  const shown = rounds === undefined ? occurrences : occurrences.slice(0, rounds.size);
  const inOrder = rounds?.order !== 'random' && !isOneByOne(rounds?.order);
  const nodes = shown.map(({ id, role, turn, parents, scored }) => ({
    id,
    role,
    turn,
    parents: inOrder ? parents : [],
    scored,
  }));
  if (rounds === undefined) {
    return { name, nodes };
  }
  const ends = shown.flatMap(({ position }) =>
    shown.some(({ parents }) => inOrder && parents.includes(position)) ? [] : [position],
  );
  const at = (parents: readonly number[], closing: boolean) => (call: { readonly name: string }) => ({
    name: call.name,
    parents,
    closing,
  });
  return {
    name,
    nodes,
    rounds: {
      words: describeRounds(rounds),
      numbered: !isOneByOne(rounds.order),
      once: rounds.turns === 1 && inOrder,
      environments: [
        ...[...rounds.after].flatMap(([slot, calls]) => calls.map(at([slot], false))),
        ...rounds.between.map(at(ends, false)),
        ...(rounds.closing === null ? [] : [rounds.closing].map(at(ends, true))),
      ],
    },
  };
}

const ORDER_WORDS = {
  by_role: '',
  fixed: 'one after another',
  reverse: 'in reverse order',
  random: 'in random order',
  drawn: 'each speaker is drawn',
  chosen: 'each message chooses the next speaker',
} as const;

function describeRounds({ turns, order, until, memory, discount }: NonNullable<ReturnType<Parser>['rounds']>): string {
  const unit = isOneByOne(order) ? 'message' : 'round';
  const parts = [
    turns === 1 ? `1 ${unit}` : `Up to ${turns} ${unit}s`,
    ORDER_WORDS[order],
    until === null ? '' : `until the reward of a round is ${until}`,
    memory === 'last' ? `each sees the last ${unit} only` : '',
    discount === 1 ? '' : `discount ${discount}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}
