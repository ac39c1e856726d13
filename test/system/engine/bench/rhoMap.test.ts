/** The map of rho, stopped and continued with few questions. */
import { continuedMap, MAP_SCALE } from './continuedMap.ts';

continuedMap({
  ...MAP_SCALE,
  run: { ...MAP_SCALE.run, 'evaluation.instances': 4, 'evaluation.samples': 1 },
  pilot: { questions: 6, alternatives: 4, replays: 4 },
});
