/** A transcript of 100,000 messages, and the memory of its panel. */

import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import { largeTranscript } from '../../integration/largeTranscript.ts';

const DECISIONS = 100_000;

largeTranscript(workbenchScenarios(), {
  messages: DECISIONS,
  speeds: [
    [40, 300],
    [200, 300],
    [1000, 300],
    [40_000, 100],
  ],
  plan: 2727,
  links: [0, 54_321, DECISIONS - 1],
  reloads: true,
  memory: 200e6,
});
