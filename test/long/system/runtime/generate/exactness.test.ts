/** First ratios of exactly 1: every shape, with one thread and with two. */

import { exactRatios, SHAPES } from '../../../../system/runtime/generate/exactRatios.ts';

exactRatios([...SHAPES.keys()], () => [1, 2]);
