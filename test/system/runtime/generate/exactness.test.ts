/** First ratios of exactly 1: of each family one shape, with one thread and with two in turn. */

import { exactRatios } from './exactRatios.ts';

// Shared keys, an odd width, the largest width; biases; normalised heads.
exactRatios([1, 2, 7, 8, 10], (place) => [1 + (place % 2)]);
