/** The reason why a request is not answered, in terms of the protocol. */
export class ServeError extends Error {
  readonly status: number;
  /** Key of the body that caused it, or null. */
  readonly parameter: string | null;
  /** Seconds after which another try may succeed, or null. */
  readonly retryAfter: number | null;

  constructor(status: number, message: string, parameter: string | null = null, retryAfter: number | null = null) {
    super(message);
    this.name = 'ServeError';
    this.status = status;
    this.parameter = parameter;
    this.retryAfter = retryAfter;
  }
}

/** Formats the error as a body of the protocol. */
export const createErrorBody = ({ status, message, parameter }: ServeError): object => ({
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
