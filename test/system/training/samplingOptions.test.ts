/** The estimated gradient of nested trees and of spines, and the variance of whole episodes. */
import { estimatedGradients, GRADIENT_OPTIONS, RULES, variancesOfGradients } from './estimatedGradients.ts';

estimatedGradients(
  GRADIENT_OPTIONS.filter(({ overrides }) => ['fanout=[2,2,2]', 'shape=spine'].includes(overrides.join())),
);
variancesOfGradients(RULES.filter(([overrides]) => overrides.join() === 'method=magrpo'));
