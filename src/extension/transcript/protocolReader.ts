/** The protocol of a stored run, for its picture. */
import { isRecord } from '../../shared/guard.ts';
import type { ProtocolGraph } from '../../shared/transcript/protocolGraph.ts';
import { loadService, type Service } from '../configuration/load.ts';
import type { StoreReader } from '../../store/read/reader.ts';

/** A protocol with more occurrences than this is not drawn. */
const MOST_NODES = 60;
/** Nor is a longer text read for its picture. */
const MOST_CHARACTERS = 1 << 16;

/** The protocol that a run was made with; null where its configuration holds none that can be read or drawn. */
export type ProtocolReader = (reader: Pick<StoreReader, 'runConfig'>, run: string) => ProtocolGraph | null;

/** Loads the parser when it is first asked for: an editor that shows no transcript needs none. */
export async function protocolReader(): Promise<ProtocolReader> {
  const { parseProtocol } = await loadService();
  return (reader, run) => protocolOf(reader, run, parseProtocol);
}

type Parser = Service['parseProtocol'];

function protocolOf(reader: Pick<StoreReader, 'runConfig'>, run: string, parse: Parser): ProtocolGraph | null {
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
    const { name, occurrences } = parse(config['protocolText'], source);
    if (occurrences.length > MOST_NODES) {
      return null;
    }
    return {
      name,
      nodes: occurrences.map(({ id, role, turn, parents, scored }) => ({ id, role, turn, parents, scored })),
    };
  } catch {
    // A picture is no reason to refuse a transcript.
    return null;
  }
}
