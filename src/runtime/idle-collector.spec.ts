import { collectorOfRuntime, IdleCollector } from './idle-collector';

describe('IdleCollector', () => {
  const traffic = { inFlight: 0, finishedTotal: 0 };
  const after = (finished: number, inFlight = 0): void => {
    traffic.finishedTotal += finished;
    traffic.inFlight = inFlight;
  };
  let collections = 0;
  let subject: IdleCollector;
  beforeEach(() => {
    traffic.finishedTotal = 0;
    traffic.inFlight = 0;
    collections = 0;
    subject = new IdleCollector(traffic, () => {
      collections += 1;
    });
    subject.look();
    expect(collections).toBe(1);
    collections = 0;
  });

  it('collects what start-up left behind, once the process is idle', () => {
    const busy = new IdleCollector({ inFlight: 1, finishedTotal: 0 }, () => {
      collections += 1;
    });
    busy.look();
    expect(collections).toBe(0);
  });

  it('collects once after a burst has ceased', () => {
    after(5000);
    subject.look();
    expect(collections).toBe(0);
    after(3);
    subject.look();
    expect(collections).toBe(1);
    after(3);
    subject.look();
    expect(collections).toBe(1);
  });

  it('never collects under load or while a request is in flight', () => {
    for (let round = 0; round < 10; round += 1) {
      after(1000);
      subject.look();
    }
    after(0, 1);
    subject.look();
    expect(collections).toBe(0);
    after(0);
    subject.look();
    expect(collections).toBe(1);
  });

  it('leaves a process alone that only answers probes', () => {
    for (let round = 0; round < 10; round += 1) {
      after(5);
      subject.look();
    }
    expect(collections).toBe(0);
  });

  it('gets a collection from the runtime', () => {
    const collect = collectorOfRuntime();
    expect(collect).toBeDefined();
    collect?.();
  });
});
