import { describe } from 'node:test';
import { CONFIGS, layersComputedAgain, projectionInRuns } from '../../../../system/runtime/graph/recomputed.ts';

describe('layers that are computed again', () => layersComputedAgain(CONFIGS));

describe('the output projection in runs of targets', () => projectionInRuns(CONFIGS));
