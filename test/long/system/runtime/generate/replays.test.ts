/** Exact replay of 10,000 replays in batches of 1 to 256. */

import { manyReplays } from '../../../../system/runtime/generate/manyReplays.ts';

manyReplays(250, 256);
