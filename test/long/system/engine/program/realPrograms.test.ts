import { REAL_PROGRAMS } from '../../../../support/realPrograms.ts';
import { testRealPrograms } from '../../../../system/engine/program/realPrograms.ts';

testRealPrograms(REAL_PROGRAMS.map(({ place }) => place));
