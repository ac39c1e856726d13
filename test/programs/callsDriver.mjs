import { drive } from '../../media/drivers/driver.mjs';
import { program } from './calls.mjs';

drive(program);
