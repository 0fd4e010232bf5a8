import { describe, expect, test } from 'vitest';
import { advertisedAddress } from './advertise.ts';

describe('the address of a cell in the fleet map', () => {
  test.each([
    ['127.0.0.1', '', '127.0.0.1:7300'],
    ['::1', '', '[::1]:7300'],
    ['0.0.0.0', 'cell-1.example', 'cell-1.example:7300'],
    ['0.0.0.0', 'cell-1.example:80', 'cell-1.example:80'],
    ['::', '[fd00::1]:80', '[fd00::1]:80'],
  ])('--host %s --advertise "%s" is %s', (host, advertise, expected) => {
    expect(advertisedAddress({ host, advertise })(7300)).toBe(expected);
  });

  test.each([
    ['0.0.0.0', '', /every address.*--advertise HOST:PORT/],
    ['::', '', /--advertise/],
    ['127.0.0.1', 'http://cell', /not HOST:PORT/],
    ['127.0.0.1', 'cell:0', /not HOST:PORT/],
    ['127.0.0.1', 'cell:70000', /not HOST:PORT/],
    ['127.0.0.1', 'fd00::1', /not HOST:PORT/],
  ])('--host %s --advertise "%s" is refused', (host, advertise, message) => {
    expect(() => advertisedAddress({ host, advertise })).toThrow(message);
  });
});
