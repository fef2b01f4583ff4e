import fc from 'fast-check';
import { conversationOf, parseRid } from './affinity-key';

describe('conversationOf', () => {
  it.each([
    ['conv_t2_r1', 'conv'],
    ['conv_t2', 'conv'],
    ['conv_r10', 'conv'],
    ['conv', 'conv'],
    ['conv_t2_t3', 'conv_t2'],
    ['conv_r1_t2', 'conv_r1'],
    ['conv_t2_r', 'conv_t2_r'],
    ['conv_tx_r1', 'conv_tx'],
    ['conv-t2', 'conv-t2'],
    ['a_t1b', 'a_t1b'],
    ['_t2_r1', '_t2_r1'],
    ['_r1', '_r1'],
    ['session-12', 'session-12'],
    ['北京_t3', '北京'],
    ['', ''],
  ])('%j belongs to %j', (id, conversation) => {
    expect(conversationOf(id)).toBe(conversation);
  });

  it('gives every turn and retry of a conversation one key', () => {
    const name = fc.string({ minLength: 1 }).filter((text) => conversationOf(text) === text);
    fc.assert(
      fc.property(name, fc.nat(), fc.nat(), (text, turn, retry) => {
        expect(conversationOf(`${text}_t${turn}_r${retry}`)).toBe(text);
        expect(conversationOf(`${text}_t${turn}`)).toBe(text);
      }),
    );
  });
});

describe('parseRid', () => {
  it('takes a string of 1 to 128 bytes', () => {
    expect(parseRid('a'.repeat(128))).toBe('a'.repeat(128));
    for (const rid of ['', 'a'.repeat(129), '北'.repeat(43), ['a'], 7, null, undefined]) {
      expect(parseRid(rid)).toBeUndefined();
    }
  });
});
