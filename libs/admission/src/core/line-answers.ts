import { type LineAnswers } from './entry-line';
import { type PriorityClassName } from './priority-class';

/** Seconds after which a refused request may be sent again. Source: SMG contract 7. */
const RETRY_AFTER_SECS = 2;

/** Answers where classes do not matter. */
export const PLAIN_ANSWERS: LineAnswers = Object.freeze({
  full: Object.freeze({
    code: 'admission_queue_full',
    message: 'as many requests as allowed are in flight, and the queue is full',
    retryAfterSecs: RETRY_AFTER_SECS,
  }),
  timeout: Object.freeze({
    code: 'admission_queue_timeout',
    message: 'the request waited for as long as allowed, and its turn did not come',
    retryAfterSecs: RETRY_AFTER_SECS,
  }),
  cancelled: undefined,
});

/** Answers to the requests of one class. */
export function classAnswers(name: PriorityClassName): LineAnswers {
  return Object.freeze({
    full: Object.freeze({
      code: 'scheduler_queue_full',
      message: `nothing is free for the priority class ${name}, and its queue is full`,
      retryAfterSecs: RETRY_AFTER_SECS,
    }),
    timeout: Object.freeze({
      code: 'scheduler_queue_timeout',
      message: `the request waited for as long as the priority class ${name} allows`,
      retryAfterSecs: RETRY_AFTER_SECS,
    }),
    cancelled: 'scheduler_client_cancelled',
  });
}
