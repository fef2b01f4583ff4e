import { fakeWorker, type FakeWorker, type FakeWorkerOptions } from '@smg/testing';

/** Fake workers that count requests in flight by key, as those of the registry do. */
export interface KeyedWorker extends FakeWorker {
  begin(key?: string): void;
  end(key?: string): void;
}

export function keyedWorkers(count: number, options: FakeWorkerOptions = {}): KeyedWorker[] {
  return Array.from({ length: count }, (_, i) => keyedWorker(`http://w${i}:8000`, options));
}

export function keyedWorker(url: string, options: FakeWorkerOptions = {}): KeyedWorker {
  const keys = new Map<string, number>();
  const worker: KeyedWorker = Object.assign(fakeWorker({ ...options, url }), {
    begin(key?: string) {
      worker.load += 1;
      if (key !== undefined) keys.set(key, (keys.get(key) ?? 0) + 1);
      worker.keysInFlight = keys.size;
    },
    end(key?: string) {
      worker.load -= 1;
      if (key !== undefined) {
        const left = (keys.get(key) ?? 0) - 1;
        if (left > 0) keys.set(key, left);
        else keys.delete(key);
      }
      worker.keysInFlight = keys.size;
    },
  });
  worker.requestsOf = (key) => keys.get(key) ?? 0;
  return worker;
}
