/** A thousand requests to `c3 serve` at once, and each alone. */

import { servedAtOnce } from '../../../../system/engine/replay/servedTeam.ts';

servedAtOnce(1000, 1);
