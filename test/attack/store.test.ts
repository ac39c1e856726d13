/** Attacks with stores: a sample of each kind. */
import { storeAttacks } from './store.ts';

storeAttacks({ planted: 2, plantedInOlder: 1, circles: 2 });
