import { testRealPrograms } from './realPrograms.ts';

testRealPrograms(['aiSdk']);
