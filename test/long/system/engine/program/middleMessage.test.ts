import { REAL_PROGRAMS } from '../../../../support/realPrograms.ts';
import { testMiddleMessages } from '../../../../system/engine/program/middleMessage.ts';

testMiddleMessages(
  REAL_PROGRAMS.map(({ place }) => place),
  ['served', 'here'],
);
