import { type ErrorCode, isTilewardenError } from '../../../domain/errors.ts';
import type { HttpProblemCode } from '../../problems.ts';

/** WMS 1.3.0, table E.1; the last two are of OGC 06-121r3, for what the WMS has no word for. */
export type WmsCode =
  | 'InvalidFormat'
  | 'InvalidSRS'
  | 'InvalidCRS'
  | 'LayerNotDefined'
  | 'StyleNotDefined'
  | 'LayerNotQueryable'
  | 'InvalidPoint'
  | 'InvalidDimensionValue'
  | 'OperationNotSupported'
  | 'MissingParameterValue'
  | 'InvalidParameterValue';

/** What is wrong with a request, in words of the WMS. */
export class WmsException extends Error {
  readonly code: WmsCode;
  /** The parameter that is to blame. */
  readonly locator: string;

  /** `message` is shown to the caller. */
  constructor(code: WmsCode, locator: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WmsException';
    this.code = code;
    this.locator = locator;
  }

  /** To the rest of the house, which gives it a status. */
  get meaning(): ErrorCode | HttpProblemCode {
    return this.code === 'OperationNotSupported' ? 'operation-unsupported' : 'request-invalid';
  }
}

/** What `read` throws because of the caller's choice is blamed on the parameter `locator`. */
export function blamingWms<Result>(code: WmsCode, locator: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    throw new WmsException(code, locator, error.message, { cause: error });
  }
}
