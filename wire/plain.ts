/**
 * `Plain<T>`: a message type of the contract as plain data: 64-bit integers are numbers, nothing is null,
 * everything is read-only. The pure core and the codecs share it, so no field of the contract can get lost
 * between them, and no protobuf library is needed to read one.
 */
import type { temporal, google } from '@temporalio/proto';

type Scalar = string | number | boolean | Uint8Array;
/** What protobufjs declares for a 64-bit integer, recognised by shape so that no import of `long` is needed. */
type LongLike = { readonly low: number; readonly high: number; readonly unsigned: boolean };

export type Plain<T> = T extends Scalar
  ? T
  : T extends LongLike
    ? number
    : T extends readonly (infer Element)[]
      ? readonly Plain<NonNullable<Element>>[]
      : T extends object
        ? {
            readonly [K in keyof T as K extends `$${string}` ? never : K]?:
              Plain<NonNullable<T[K]>> | undefined;
          }
        : never;

export type Payload = Plain<temporal.api.common.v1.IPayload>;
export type Payloads = Plain<temporal.api.common.v1.IPayloads>;
export type Header = Plain<temporal.api.common.v1.IHeader>;
export type Memo = Plain<temporal.api.common.v1.IMemo>;
export type SearchAttributes = Plain<temporal.api.common.v1.ISearchAttributes>;
export type RetryPolicy = Plain<temporal.api.common.v1.IRetryPolicy>;
export type Failure = Plain<temporal.api.failure.v1.IFailure>;
export type Duration = Plain<google.protobuf.IDuration>;
export type Timestamp = Plain<google.protobuf.ITimestamp>;
export type TaskQueue = Plain<temporal.api.taskqueue.v1.ITaskQueue>;
export type Link = Plain<temporal.api.common.v1.ILink>;
export type UserMetadata = Plain<temporal.api.sdk.v1.IUserMetadata>;
export type Priority = Plain<temporal.api.common.v1.IPriority>;
