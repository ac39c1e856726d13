/**
 * `c3 bench train`: one optimizer step, compared with the bare weight products of the same step and
 * with eager PyTorch, and whole C3 iterations.
 */

import { initialParameters } from '../../runtime/model/model.ts';
import { BareProducts } from '../../runtime/provider/products.ts';
import { Trainer } from '../../runtime/train/trainer.ts';
import { makeFigure, describeHardware, type BenchFigure, type BenchReport, type TeamBenchOptions } from '../report.ts';
import { measureMedianSeconds } from '../turns.ts';
import { benchIteration } from './iteration.ts';
import { measurePeer, toPeerFields, type Peer } from './peer.ts';
import { DEVICE, SHAPE, STEP } from './shape.ts';
import { makeBareStepWork, makeStepWork } from './step.ts';

const FULL = { rounds: 15, peerRounds: 9 };
const QUICK = { rounds: 5, peerRounds: 3 };

/** @throws CancelledError; C3Error */
export async function benchTrain(options: TeamBenchOptions): Promise<BenchReport> {
  // Measured first, so that the resident set is that of the run.
  const iteration = await benchIteration(options);
  const { rounds, peerRounds } = options.quick ? QUICK : FULL;
  const measured = await measurePeer(
    { suite: 'train', shape: SHAPE, threads: DEVICE.threads, rounds: peerRounds, ...STEP },
    options,
  );
  const step = await measureStep(rounds, measured.peer, options);
  return {
    suite: 'train',
    figures: [step, ...iteration],
    hardware: describeHardware('CPU provider', `${DEVICE.threads} threads`),
    ...toPeerFields(measured),
  };
}

async function measureStep(rounds: number, peer: Peer | null, options: TeamBenchOptions): Promise<BenchFigure> {
  const parameters = initialParameters(SHAPE, 1);
  const trainer = new Trainer(SHAPE, DEVICE);
  const bare = await BareProducts.create(SHAPE, parameters, DEVICE, 'training');
  try {
    const seconds = await measureMedianSeconds(
      { step: makeStepWork(trainer, SHAPE, parameters, options.signal), bare: makeBareStepWork(bare, SHAPE) },
      rounds,
      options,
    );
    options.note('optimizer step measured');
    const peerSeconds = peer?.seconds['step'];
    return makeFigure(`optimizer step, ${STEP.rows} x ${STEP.length} tokens`, 1000 * seconds.step, 'ms', {
      ceiling: 1000 * seconds.bare,
      ratio: seconds.bare / seconds.step,
      ...(peerSeconds !== undefined && { peer: 1000 * peerSeconds, peerRatio: peerSeconds / seconds.step }),
    });
  } finally {
    await trainer.release();
    await bare.release();
  }
}
