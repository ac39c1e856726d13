/** Exchanges with hostile servers and programs: 10,000. */

import { exchangeAttacks } from '../../attack/exchanges.ts';

exchangeAttacks({ recorded: 5000, asked: 2500, spans: 2500 });
