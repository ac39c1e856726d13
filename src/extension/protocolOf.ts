/** The protocol of a stored run, for its picture. */
import { isRecord } from '../shared/guard.ts';
import type { ProtocolGraph } from '../shared/protocolGraph.ts';
import type { StoreReader } from '../store/reader.ts';
import { parseProtocol } from '../team/parseProtocol.ts';

/** A protocol with more occurrences than this is not drawn. */
const MOST_NODES = 60;

/** The protocol that a run was made with; null where its configuration holds none that can be read or drawn. */
export function protocolOf(reader: Pick<StoreReader, 'runConfig'>, run: string): ProtocolGraph | null {
  try {
    const config: unknown = JSON.parse(reader.runConfig(run));
    if (!isRecord(config) || typeof config['protocolText'] !== 'string') return null;
    const source = typeof config['protocolSource'] === 'string' ? config['protocolSource'] : 'protocol';
    const { name, occurrences } = parseProtocol(config['protocolText'], source);
    if (occurrences.length > MOST_NODES) return null;
    return { name, nodes: occurrences.map(({ id, role, turn, parents, scored }) => ({ id, role, turn, parents, scored })) };
  } catch {
    // A picture is no reason to refuse a transcript.
    return null;
  }
}
