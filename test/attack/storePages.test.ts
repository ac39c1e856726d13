/** Attacks with pages of a store: a sample of each kind. */
import { storePagesAttacks } from './storePages.ts';

storePagesAttacks({ endless: 2 });
