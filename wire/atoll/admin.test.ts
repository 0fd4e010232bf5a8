import { describe, expect, it } from 'vitest';
import { fileOfSymbol } from '../file-descriptors.ts';
import { ADMIN_METHODS, ADMIN_SERVICE } from './admin.ts';

describe('the admin API', () => {
  it('has a method of each request, and is known to reflection', () => {
    expect(ADMIN_METHODS.size).toBe(15);
    expect(fileOfSymbol(ADMIN_SERVICE)).toBe('atoll/admin/v1/message.proto');
  });

  it('carries moves in lists; a zero reads as absent', () => {
    const method = ADMIN_METHODS.get(`/${ADMIN_SERVICE}/DescribeNamespace`);
    const namespace = {
      name: 'orders',
      replicas: ['a', 'b'],
      moves: [{ id: 'm', pauseMs: 12 }],
    };
    const bytes = method?.response.encode({ namespace: { ...namespace, epoch: 0 } });
    expect(method?.response.decode(bytes as Uint8Array)).toEqual({ namespace });
  });
});
