/** Exchanges with hostile servers and programs: a sample. */

import { exchangeAttacks } from './exchanges.ts';

exchangeAttacks({ recorded: 80, asked: 20, spans: 40 });
