/** A transcript of 2,000 messages, of which the panel holds a few hundred. */
import { workbenchScenarios } from './harness/workbench.ts';
import { largeTranscript } from './largeTranscript.ts';

const DECISIONS = 2_000;

largeTranscript(workbenchScenarios(), {
  decisions: DECISIONS,
  speeds: [[1000, 60]],
  plan: 127,
  links: [DECISIONS - 1],
  reloads: false,
});
