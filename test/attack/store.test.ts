/** Attacks with stores: a sample of each kind. */
import { storeAttacks } from './store.ts';

storeAttacks({ planted: 3, plantedInOlder: 1, circles: 2 });
