/** The expected gradient with two-level leave-one-out, on trees with many outcomes. */

import { describe } from 'node:test';
import { requireNoBias } from '../../../unit/training/twoLevelBias.ts';

describe('the expected gradient with loo_two_level', () => {
  requireNoBias([
    { fanout: [3, 3] },
    { fanout: [3, 3], merged: true, masked: [0, 4, 5] },
    { fanout: [2, 2, 2] },
    { fanout: [2, 2, 2], merged: true },
    { fanout: [2, 2, 2], masked: [0, 1, 2, 5] },
    { fanout: [3, 2, 1], variances: [0.5, 2] },
    { fanout: [3, 1, 2], merged: true },
  ]);
});
