import { describe, expect, it } from 'vitest';
import type { Namespace } from '../../fleet/map.ts';
import { FleetAdmission } from './fleet-admission.ts';

const HERE: Namespace = {
  id: 'id-1',
  name: 'shop',
  description: '',
  ownerEmail: '',
  data: {},
  retentionMs: 86_400_000,
  registeredAt: 0,
  state: 'registered',
  customSearchAttributes: {},
  placement: { active: 'here', replicas: ['here'], epoch: 4, state: { kind: 'active' } },
};
const MOVED: Namespace = {
  ...HERE,
  placement: { ...HERE.placement, active: 'there', replicas: ['here', 'there'], epoch: 5 },
};

/** A copy of the map that knows `before`, and `after` once it has looked. */
function admission(before: readonly Namespace[], after: readonly Namespace[]) {
  let known = before;
  const looks = { count: 0 };
  const map = {
    namespaceByName: (name: string) => known.find((one) => one.name === name),
    namespaceById: (id: string) => known.find((one) => one.id === id),
    refresh: () => {
      looks.count += 1;
      known = after;
      return Promise.resolve();
    },
  };
  return { admission: new FleetAdmission(map, 'here'), looks };
}

describe('admission by the fleet map', () => {
  it('admits from memory, with the epoch of its own map', async () => {
    const { admission: port, looks } = admission([HERE], []);
    expect(await port.admit({ 'atoll-epoch': '3' }, 'shop')).toEqual({
      namespace: 'shop',
      namespaceId: 'id-1',
      epoch: 4,
    });
    expect(looks.count).toBe(0);
  });

  it('looks again when a router has seen a newer epoch, and refuses what has moved', async () => {
    const { admission: port, looks } = admission([HERE], [MOVED]);
    await expect(port.admit({ 'atoll-epoch': '5' }, 'shop')).rejects.toMatchObject({
      code: 'unavailable',
      trailers: { 'atoll-refused': 'not-active', 'atoll-owner': 'there', 'atoll-epoch': '5' },
    });
    expect(looks.count).toBe(1);
  });

  it('goes on by its own map when a router claims an epoch that nobody has', async () => {
    const { admission: port } = admission([HERE], [HERE]);
    expect((await port.admit({ 'atoll-epoch': '9' }, 'shop')).epoch).toBe(4);
  });

  it('finds a namespace that was registered a moment ago', async () => {
    const { admission: port, looks } = admission([], [HERE]);
    expect((await port.admit({}, 'shop')).namespaceId).toBe('id-1');
    expect(looks.count).toBe(1);
  });

  it('says that a namespace is unknown after it has looked', async () => {
    const { admission: port } = admission([HERE], [HERE]);
    await expect(port.admit({}, 'nobody')).rejects.toMatchObject({ code: 'not-found' });
  });

  it('ignores an epoch header that is no number', async () => {
    const { admission: port, looks } = admission([HERE], []);
    await port.admit({ 'atoll-epoch': 'soon' }, 'shop');
    expect(looks.count).toBe(0);
  });
});
