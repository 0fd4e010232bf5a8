/** What the cell says of itself and its namespaces to callers that reach it without a router. Only what exists. */
import type { Namespace } from '../../fleet/map.ts';
import type { Response } from '../../wire/services.ts';
import { toDuration } from '../../wire/time.ts';

export function systemInfo(serverVersion: string): Response<'GetSystemInfo'> {
  return {
    serverVersion,
    capabilities: {
      signalAndQueryHeader: true,
      internalErrorDifferentiation: true,
      activityFailureIncludeHeartbeat: true,
      encodedFailureAttributes: true,
      sdkMetadata: true,
      eagerWorkflowStart: true,
      countGroupByExecutionStatus: true,
    },
  };
}

const STATES = { registered: 1, deprecated: 2, deleted: 3 } as const;

export function describeNamespace(namespace: Namespace): Response<'DescribeNamespace'> {
  const { placement } = namespace;
  return {
    namespaceInfo: {
      name: namespace.name,
      id: namespace.id,
      state: STATES[namespace.state],
      description: namespace.description,
      ownerEmail: namespace.ownerEmail,
      data: namespace.data,
      capabilities: {},
    },
    config: {
      workflowExecutionRetentionTtl: toDuration(namespace.retentionMs),
      customSearchAttributeAliases: {},
    },
    replicationConfig: {
      activeClusterName: placement.active,
      clusters: placement.replicas.map((clusterName) => ({ clusterName })),
    },
    failoverVersion: placement.epoch,
    isGlobalNamespace: true,
  };
}
