import { testRealPrograms } from '../../../../system/engine/program/realPrograms.ts';

testRealPrograms(['aiSdk']);
