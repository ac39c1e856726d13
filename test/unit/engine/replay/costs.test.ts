import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { FullMessage } from '../../../../src/domain/message.ts';
import { estimateCosts } from '../../../../src/engine/replay/costs.ts';
import type { StoreReader } from '../../../../src/store/types.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { PAIR_TEXT } from '../../training/tinyTeam.ts';

it('a team that no server answers costs nothing, and nothing is read to say so', () => {
  const unread = new Proxy<Partial<StoreReader>>(
    {},
    {
      get: (_, name) => {
        throw new Error(`${String(name)} was read`);
      },
    },
  ) as StoreReader;
  const asked = { message: 1, alternatives: 8, replays: 4, text: null };
  const sampling = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 8 };
  const message = { id: 1, run: 'run', position: 0 } as FullMessage;
  const protocol = parseProtocol(PAIR_TEXT, 'pair.json');
  const scripted = { [protocol.occurrences[0]?.role ?? '']: { kind: 'scripted', answers: [] } } as const;
  for (const policies of [undefined, scripted]) {
    assert.deepEqual(estimateCosts(unread, message, asked, { protocol, policies, sampling }), []);
  }
});
