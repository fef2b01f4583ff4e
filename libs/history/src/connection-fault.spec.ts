import { describeFault, placeOf } from './connection-fault';

const URL_ = 'postgres://me:p%40ss@db.example:5432/x?password=other';

describe('describeFault', () => {
  it('says something where Node says nothing', () => {
    const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
    expect(describeFault(refused, URL_)).toBe('ECONNREFUSED');
    const several = new AggregateError([new Error('connect ::1'), new Error('connect 127')], '');
    expect(describeFault(several, URL_)).toBe('connect ::1; connect 127');
  });

  it.each(['p%40ss', 'p@ss', 'other', URL_])('never shows %s', (secret) => {
    const text = describeFault(new Error(`auth of ${secret} failed`), URL_);
    expect(text).toBe('auth of *** failed');
  });

  it('names the place without credentials', () => {
    expect(placeOf(URL_)).toBe('db.example:5432');
    expect(placeOf('odd')).toBe('the server');
  });
});
