/** C3 (Algorithm 1): messages of one context against each other, by leave-one-out unless `credit.estimator` says otherwise. */
import { treeMethod } from './tree.ts';

export const c3 = treeMethod(({ credit }) => credit.estimator);
