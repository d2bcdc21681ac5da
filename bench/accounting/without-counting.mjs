/**
 * Runs the project's sources without the ledger: bundles keep no page statistics. Nothing else differs, so that what
 * is saved is what counting costs: `node --import ./scripts/typescript/register.mjs --import ./bench/accounting/without-counting.mjs …`.
 */
import { register } from 'node:module';

register('./without-counting-hooks.mjs', import.meta.url);
