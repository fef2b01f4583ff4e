import { freshRequest, renewPrompt } from './chat-request';

function promptOf(request: Buffer): string {
  const [, body = ''] = request.toString('latin1').split('\r\n\r\n');
  return (JSON.parse(body) as { messages: [{ content: string }] }).messages[0].content;
}

describe('renewPrompt', () => {
  it('makes prompts of 1 KiB that share their first half with those of their group alone', () => {
    const request = freshRequest(80, 'key');
    const promptNumber = (number: number): string => {
      renewPrompt(request, number);
      return promptOf(request);
    };
    const [one, other, next] = [promptNumber(1), promptNumber(65), promptNumber(2)];
    expect(one).toHaveLength(1_024);
    expect(other.slice(0, 512)).toBe(one.slice(0, 512));
    expect(other.slice(512)).not.toBe(one.slice(512));
    expect(next.slice(0, 512)).not.toBe(one.slice(0, 512));
  });
});
