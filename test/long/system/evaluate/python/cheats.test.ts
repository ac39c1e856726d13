import { triedCheats } from '../../../../system/evaluate/python/triedCheats.ts';
import { CHEATS } from '../../../../unit/evaluate/python/cheats.ts';

triedCheats(Object.keys(CHEATS));
