import { DoneWatch, LogprobLines, upToMarker } from './event-lines';
import { joinLogprobs, promptLogprobsOf, wantsLogprobs } from './logprobs';

const BIG = '9007199254740993';
const answer = (list: string, more = ''): string =>
  `{"text":"x","meta_info":{"id":${BIG},"input_token_logprobs":${list}}${more}}`;

const prompt = (text: string, isStream = false) => promptLogprobsOf(Buffer.from(text), isStream);
const join = (decode: string, prefill: string): string =>
  joinLogprobs(Buffer.from(decode), prompt(prefill)).toString();

describe('joining logprobs of a whole answer', () => {
  it.each([
    ['[[-1,2,null]]', `[[-0.5,${BIG},"a"]]`, `[[-0.5,${BIG},"a"],[-1,2,null]]`],
    ['[]', '[[-0.50,1,null]]', '[[-0.50,1,null]]'],
    ['[[-1,2]]', '[]', '[[-1,2]]'],
    ['null', '[[1]]', 'null'],
    ['[[-1,"]"]]', '[[0,"}]"] ]', '[[0,"}]"],[-1,"]"]]'],
  ])('puts in front of %s those of %s', (own, theirs, joined) => {
    const got = join(answer(own, ',"seed":18446744073709551615'), answer(theirs));
    expect(got).toBe(answer(joined, ',"seed":18446744073709551615'));
  });

  it('joins a batch item by item', () => {
    const decode = `[${answer('[[1]]')}, ${answer('[[2]]')} ,${answer('[[3]]')}]`;
    const prefill = `[${answer('[[10]]')},{"text":"none"},${answer('[[30]]')}]`;
    expect(join(decode, prefill)).toBe(
      `[${answer('[[10],[1]]')}, ${answer('[[2]]')} ,${answer('[[30],[3]]')}]`,
    );
  });

  it.each(['', 'garbage', '{"meta_info"', '{"meta_info":7}', '[7,null]', '{"choices":[]}'])(
    'leaves the answer as it is when either side is %j',
    (text) => {
      expect(join(answer('[[1]]'), text)).toBe(answer('[[1]]'));
      expect(join(text, answer('[[1]]'))).toBe(text);
    },
  );

  it('is wanted where the request says so', () => {
    expect(wantsLogprobs('generate', { return_logprob: true })).toBe(true);
    expect(wantsLogprobs('generate', { logprobs: true })).toBe(false);
    expect(wantsLogprobs('chat', { logprobs: true })).toBe(true);
    expect(wantsLogprobs('chat', { logprobs: null })).toBe(false);
    expect(wantsLogprobs('completions', { logprobs: 0 })).toBe(true);
    expect(wantsLogprobs('messages', { logprobs: true })).toBe(false);
  });
});

describe('joining logprobs of a stream', () => {
  const stream =
    `: note\n\ndata: ${answer('[[1]]')}\r\n\r\n` +
    `data:${answer('[[2]]', ',"index":1')}\n\nevent: x\ndata: {"other":${BIG}}\n\ndata: [DONE]\n\n`;
  const expected =
    `: note\n\ndata: ${answer('[[10],[1]]')}\r\n\r\n` +
    `data:${answer('[[20],[2]]', ',"index":1')}\n\nevent: x\ndata: {"other":${BIG}}\n\ndata: [DONE]\n\n`;
  const prefill = `data: ${answer('[]')}\n\ndata: ${answer('[[10]]')}\n\ndata: ${answer('[[20]]', ',"index":1')}\n\ndata: [DONE]\n\n`;

  it('joins every event wherever the pieces break', () => {
    const bytes = Buffer.from(stream);
    for (let at = 0; at <= bytes.length; at += 1) {
      const lines = new LogprobLines(prompt(prefill, true), 10_000);
      const parts = [bytes.subarray(0, at), bytes.subarray(at)].map((part) => lines.push(part));
      const got = Buffer.concat([...parts.map((part) => part ?? Buffer.alloc(0)), lines.end()]);
      expect(got.toString()).toBe(expected);
    }
  });

  it('joins every event that comes byte by byte, and hands part of a line out at the end', () => {
    const lines = new LogprobLines(prompt(prefill, true), 10_000);
    let got = '';
    for (const byte of Buffer.from(`${stream}data: {"half`)) {
      got += lines.push(Buffer.from([byte]))?.toString() ?? '?';
    }
    expect(got).toBe(expected);
    expect(lines.end().toString()).toBe('data: {"half');
  });

  it('gives up on a line that is too long', () => {
    const lines = new LogprobLines(prompt(prefill, true), 10);
    expect(lines.push(Buffer.from('data: {"a"'))).toBeDefined();
    expect(lines.push(Buffer.from('x'))).toBeUndefined();
  });
});

describe('the end marker', () => {
  const find = (pieces: readonly string[]): number => {
    const watch = new DoneWatch();
    let before = 0;
    for (const piece of pieces) {
      const at = watch.see(Buffer.from(piece));
      if (at !== -1) return before + at;
      before += piece.length;
    }
    return -1;
  };

  it('is found at the start of a line, wherever the pieces break', () => {
    const text = 'data: {"a":"data: [DONE]\\n"}\n\ndata: [DONE]\r\n\r\nmore';
    for (let at = 0; at <= text.length; at += 1) {
      expect(find([text.slice(0, at), text.slice(at)])).toBe(text.length - 6);
    }
    expect(find(text.split(''))).toBe(text.length - 6);
  });

  it.each(['data: [DONE]', ' data: [DONE]\n', 'data: [DONE] x\n', 'data: "[DONE]"\n'])(
    'is not %j',
    (text) => {
      expect(find([text])).toBe(-1);
    },
  );

  it.each([
    ['a\n\nmore', 2, 'a\n\n'],
    ['a\r\n\r\nmore', 3, 'a\r\n\r\n'],
    ['a\n', 2, 'a\n\n'],
  ])('ends its event: %j', (text, at, expected) => {
    expect(upToMarker(Buffer.from(text), at).toString()).toBe(expected);
  });
});
