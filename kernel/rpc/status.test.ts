import { describe, expect, test } from 'vitest';
import { AtollError, GRPC_STATUS, type ErrorCode } from '../errors.ts';
import { encodeMessage, errorOf, MAX_DETAILS_BYTES, statusHeaders } from './status.ts';

const HEADER_LIMIT = 16 * 1024;
const size = (headers: object) => Object.entries(headers).flat().join('').length;

describe('the outcome of a call as headers', () => {
  test.each(Object.keys(GRPC_STATUS) as ErrorCode[])('%s comes back', (code) => {
    expect(errorOf(statusHeaders(new AtollError(code, 'm')))).toMatchObject({ code, message: 'm' });
  });

  test.each(['plain', '100% ü 🌊\r\n\0', '', '%41'])(
    'the message %j comes back, printable',
    (message) => {
      const headers = statusHeaders(new AtollError('internal', message));
      expect(headers['grpc-message']).toMatch(/^[\x20-\x7e]*$/);
      expect(errorOf(headers)?.message).toBe(message || 'gRPC status 13');
    },
  );

  test('half a surrogate pair becomes the replacement character', () => {
    expect(encodeMessage('a\ud800b')).toBe('a%EF%BF%BDb');
  });

  test('a malformed escape of a peer is left as it came', () => {
    expect(errorOf({ 'grpc-status': '5', 'grpc-message': '50% off' })?.message).toBe('50% off');
  });

  test('status 0 is no error, and a status without a code keeps its number', () => {
    expect(errorOf({ 'grpc-status': '0' })).toBeUndefined();
    expect(errorOf({ 'grpc-status': '2' })).toMatchObject({
      code: 'internal',
      detail: { value: { status: 2 } },
    });
  });

  test('details come back, with or without padding', () => {
    const details = new Uint8Array([1, 2, 3, 4]);
    const headers = statusHeaders(new AtollError('aborted', 'm'), details);
    expect(headers['grpc-status-details-bin']).toBe('AQIDBA');
    for (const bin of ['AQIDBA', 'AQIDBA==']) {
      const error = errorOf({ ...headers, 'grpc-status-details-bin': bin });
      expect(error?.detail?.value).toEqual({ status: 10, details });
    }
  });

  test('the largest message and details stay far under the limit of clients', () => {
    const headers = statusHeaders(
      new AtollError('internal', '🌊'.repeat(50_000)),
      new Uint8Array(MAX_DETAILS_BYTES),
    );
    expect(size(headers)).toBeLessThan(HEADER_LIMIT - 3_000);
    expect(headers).toHaveProperty('grpc-status-details-bin');
    expect(errorOf(headers)?.message).toMatch(/^(🌊)+…+$/u);
  });

  test('details that do not fit are left out', () => {
    const headers = statusHeaders(
      new AtollError('internal', 'm'),
      new Uint8Array(MAX_DETAILS_BYTES + 1),
    );
    expect(headers).not.toHaveProperty('grpc-status-details-bin');
  });

  test('headers for machines between us and the caller travel beside the status', () => {
    const error = new AtollError('failed-precondition', 'm', { trailers: { 'atoll-owner': 'b' } });
    expect(statusHeaders(error)).toMatchObject({ 'atoll-owner': 'b', 'grpc-status': '9' });
  });
});
