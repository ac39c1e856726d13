/** Attacks with stores: a sample of each kind. */
import { storeAttacks } from './store.ts';

storeAttacks({ planted: 6, plantedInOlder: 1 });
