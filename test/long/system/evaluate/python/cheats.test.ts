import { triedCheats } from '../../../../system/evaluate/python/triedCheats.ts';
import { CHEATS } from '../../../../unit/evaluate/python/cheats.ts';
import { BACKENDS } from '../../../../unit/evaluate/python/support.ts';

triedCheats(Object.keys(CHEATS), BACKENDS);
