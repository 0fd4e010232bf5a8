/** A namespace of the map in the contract's words, for router and cell. */
import { ArchivalState, NamespaceState } from '../wire/enums.ts';
import { PAYLOAD_LIMIT_BYTES } from '../wire/payload-limits.ts';
import type { Response } from '../wire/services.ts';
import { toDuration } from '../wire/time.ts';
import type { Namespace } from './map.ts';

const REPLICATION_NORMAL = 1;

const STATE = {
  registered: NamespaceState.Registered,
  deprecated: NamespaceState.Deprecated,
  deleted: NamespaceState.Deleted,
} as const;

export function namespaceMessage(namespace: Namespace): Response<'DescribeNamespace'> {
  const { placement } = namespace;
  return {
    namespaceInfo: {
      id: namespace.id,
      name: namespace.name,
      state: STATE[namespace.state],
      description: namespace.description,
      ownerEmail: namespace.ownerEmail,
      data: namespace.data,
      capabilities: {},
      // SDKs warn before they send more.
      limits: { blobSizeLimitError: PAYLOAD_LIMIT_BYTES, memoSizeLimitError: PAYLOAD_LIMIT_BYTES },
    },
    config: {
      workflowExecutionRetentionTtl: toDuration(namespace.retentionMs),
      historyArchivalState: ArchivalState.Disabled,
      visibilityArchivalState: ArchivalState.Disabled,
      customSearchAttributeAliases: Object.fromEntries(
        Object.keys(namespace.customSearchAttributes).map((name) => [name, name]),
      ),
    },
    replicationConfig: {
      activeClusterName: placement.active,
      clusters: placement.replicas.map((clusterName) => ({ clusterName })),
      state: REPLICATION_NORMAL,
    },
    failoverVersion: placement.epoch,
    isGlobalNamespace: true,
  };
}
