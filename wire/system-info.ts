/**
 * What an SDK is told of the server before its first call. Announced is only what exists.
 *
 * Place: router and cell, which is called without a router where it serves alone.
 */
import type { Response } from './services.ts';

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
