/** The map of rho, stopped and continued. */
import { continuedMap, MAP_SCALE } from '../../../../system/engine/bench/continuedMap.ts';

continuedMap(MAP_SCALE);
