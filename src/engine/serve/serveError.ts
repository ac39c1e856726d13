/** Why a request is not answered, as the protocol says it. */
export class ServeError extends Error {
  readonly status: number;
  /** Which key of the body it is about; null where it is about none. */
  readonly parameter: string | null;
  /** Seconds after which asking again may help. */
  readonly retryAfter: number | null;

  constructor(status: number, message: string, parameter: string | null = null, retryAfter: number | null = null) {
    super(message);
    this.name = 'ServeError';
    this.status = status;
    this.parameter = parameter;
    this.retryAfter = retryAfter;
  }
}

/** The error as a body of the protocol. */
export const errorBody = ({ status, message, parameter }: ServeError): object => ({
  error: {
    message,
    type: status < 500 ? 'invalid_request_error' : 'server_error',
    param: parameter,
    code: CODES[status] ?? null,
  },
});

const CODES: Readonly<Record<number, string>> = {
  401: 'invalid_api_key',
  404: 'not_found',
  413: 'request_too_large',
  429: 'rate_limit_exceeded',
};
