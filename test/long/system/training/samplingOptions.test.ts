/** The estimated gradient and its variance, with every option of sampling and credit. */
import {
  estimatedGradients,
  GRADIENT_OPTIONS,
  RULES,
  variancesOfGradients,
  variancesOfMergedContexts,
} from '../../../system/training/estimatedGradients.ts';

estimatedGradients(GRADIENT_OPTIONS);
variancesOfGradients(RULES);
variancesOfMergedContexts();
