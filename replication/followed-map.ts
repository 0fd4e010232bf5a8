/** What replication needs of the cell's copy of the fleet map. */
import type { CachedFleetMap } from '../fleet/cached-map.ts';

export type FollowedMap = Pick<CachedFleetMap, 'map' | 'namespaceById' | 'onChange' | 'refresh'>;
