import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeContext, fakeWorker } from 'smg-gateway/testing';
import { GpuClassFilter } from './gpu-class.plugin';

const fleet = [
  fakeWorker({ url: 'http://a:8000', labels: { gpu_class: 'h200' } }),
  fakeWorker({ url: 'http://b:8000', labels: { gpu_class: 'l4' } }),
  fakeWorker({ url: 'http://c:8000' }),
];

const kept = (headers: Record<string, string>) =>
  new GpuClassFilter().filter(fleet, fakeContext({ headers }));

void test('keeps the class that was asked for', () => {
  assert.deepEqual(kept({ 'x-acme-gpu-class': 'h200' }), [fleet[0]]);
});

void test('leaves nobody when no worker has it', () => {
  assert.deepEqual(kept({ 'x-acme-gpu-class': 'tpu' }), []);
});

void test('returns the very same array for a request that asks for nothing', () => {
  assert.equal(kept({}), fleet);
});
