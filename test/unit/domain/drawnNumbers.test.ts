import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classifyDraws } from '../../../src/domain/replay.ts';

/** A continuation whose leaf is a message of its own, or the alternative itself if the episode ended there. */
const continued = (alternative: number, replayIndex: number, leaf = 100 * alternative + replayIndex) => ({
  alternative,
  replayIndex,
  leaf,
});

describe('classifyDraws', () => {
  it('compares the first index that two continuations share, beyond one that only one of them has', () => {
    const replays = [continued(1, 0), continued(1, 1), continued(2, 1)];
    assert.equal(
      classifyDraws(replays, (leaf) => `numbers of ${leaf % 100}`),
      'common',
    );
    assert.equal(
      classifyDraws(replays, (leaf) => `numbers of ${leaf}`),
      'independent',
    );
    assert.equal(
      classifyDraws(replays, () => ''),
      'unseeded',
    );
  });

  it('compares nothing if no index is shared, or the episode ends with the message', () => {
    const same = (): string => 'numbers';
    assert.equal(classifyDraws([continued(1, 0), continued(2, 1)], same), null);
    assert.equal(classifyDraws([continued(1, 0, 1), continued(2, 0, 2)], same), null);
  });

  it('sees pairs if one message has all numbers and each other one shares one of them', () => {
    const own = [continued(1, 0), continued(1, 1), continued(1, 2)];
    const by = (leaf: number): string => `numbers of ${leaf % 100}`;
    assert.equal(classifyDraws([...own, continued(2, 0), continued(3, 1), continued(4, 2)], by), 'paired');
    assert.equal(classifyDraws([...own, continued(2, 0), continued(2, 1), continued(3, 2)], by), 'common');
  });
});
