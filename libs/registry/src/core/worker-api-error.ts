import { WORKER_API_CODES, type WorkerApiCode } from '@smg/protocol';

/** A refusal of the worker API; rendered as `{"error","code"}`. */
export class WorkerApiError extends Error {
  override readonly name = 'WorkerApiError';
  readonly status: number;

  constructor(
    readonly code: WorkerApiCode,
    message: string,
  ) {
    super(message);
    this.status = WORKER_API_CODES[code].status;
  }
}

export const badRequest = (message: string): WorkerApiError =>
  new WorkerApiError('BAD_REQUEST', message);

export const workerNotFound = (id: string): WorkerApiError =>
  new WorkerApiError('WORKER_NOT_FOUND', `Worker ${id} not found`);

export const workerExists = (url: string, id: string): WorkerApiError =>
  new WorkerApiError(
    'WORKER_ALREADY_EXISTS',
    `Worker ${url} already exists with id ${id}; use PUT /workers/${id} to replace it or PATCH /workers/${id} to change it`,
  );

export const queueUnavailable = (reason: 'full' | 'closed'): WorkerApiError =>
  new WorkerApiError('INTERNAL_SERVER_ERROR', `The worker job queue is ${reason}`);

export const registrationFailed = (message: string): WorkerApiError =>
  new WorkerApiError(
    'WORKER_REGISTRATION_FAILED',
    `The worker could not be registered: ${message}`,
  );
