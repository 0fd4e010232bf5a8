/**
 * `atoll.admin.v1`, our own API for operators (D1): its messages, its methods, and their plain forms.
 *
 * Place: admin/service answers it, admin/cli calls it. The messages stand in the same root as the contract's, so that
 * reflection knows them as soon as this file is loaded. Times are ms since 1970, lengths of time are ms; 0 reads as absent.
 */
import { descriptors, messageType, methodsOf, type MessageType } from '../proto.ts';

export const ADMIN_SERVICE = 'atoll.admin.v1.AdminService';

export type Count = number | undefined;
export type Text = string | undefined;

export type CellMessage = { id?: Text; region?: Text; address?: Text; shards?: Count };
/** Parts of a pause, ms. */
export type MovePauseMessage = {
  gatesMs?: Count;
  drainMs?: Count;
  compareMs?: Count;
  switchMs?: Count;
  openMs?: Count;
  compared?: Count;
};
export type MoveMessage = {
  id?: Text;
  kind?: Text;
  from?: Text;
  to?: Text;
  phase?: Text;
  phaseSince?: Count;
  startedAt?: Count;
  maxPauseMs?: Count;
  autoConfirm?: boolean | undefined;
  driver?: Text;
  note?: Text;
  outcome?: Text;
  reason?: Text;
  pauseMs?: Count;
  pause?: MovePauseMessage | undefined;
  endedAt?: Count;
  backOf?: Text;
};
export type NamespaceMessage = {
  id?: Text;
  name?: Text;
  description?: Text;
  ownerEmail?: Text;
  retentionMs?: Count;
  registeredAt?: Count;
  state?: Text;
  active?: Text;
  replicas?: readonly string[] | undefined;
  epoch?: Count;
  /** `active` or `handover`. */
  placement?: Text;
  mode?: Text;
  policy?: Text;
  maxLagMs?: Count;
  moves?: readonly MoveMessage[] | undefined;
};
export type LaneMessage = {
  from?: Text;
  to?: Text;
  /** `tail`, `copy`, or `unreachable` with `why`. */
  kind?: Text;
  pending?: Count;
  lagMs?: Count;
  copied?: Count;
  total?: Count;
  parked?: Count;
  deadLetters?: Count;
  /** -1: never. */
  acknowledgedMsAgo?: Count;
  why?: Text;
};
export type FindingMessage = { code?: Text; says?: Text };
export type DifferenceMessage = {
  workflowId?: Text;
  runId?: Text;
  what?: Text;
  /** Why it was not repaired, where that is known. */
  why?: Text;
};
export type LossEstimateMessage = {
  source?: Text;
  heardMsAgo?: Count;
  knownMissing?: Count;
  lagMs?: Count;
  /** Nothing was heard of the source since the cell started. */
  unheard?: boolean | undefined;
  /** The source copies: more than `knownMissing` may be missing. */
  copying?: boolean | undefined;
  copied?: Count;
  total?: Count;
  /** The cell never had a whole copy. */
  unseeded?: boolean | undefined;
  /** Of a copy: all that changed before is there. */
  since?: Count;
};
export type LostExecutionMessage = {
  workflowId?: Text;
  runId?: Text;
  outcome?: Text;
  fromTransition?: Count;
  toTransition?: Count;
  epoch?: Count;
  rolledBack?: readonly string[] | undefined;
  reapplied?: readonly string[] | undefined;
  mayHaveRunTwice?: readonly string[] | undefined;
  /** The cell that keeps it for the report. */
  cell?: Text;
};
export type UnansweredMessage = { cell?: Text; why?: Text };
type MoveName = { namespace?: Text; moveId?: Text };

/** The plain request and response of each method. */
export type AdminCalls = {
  DescribeFleet: [
    Record<never, never>,
    {
      revision?: Count;
      cells?: readonly CellMessage[] | undefined;
      namespaces?: readonly NamespaceMessage[] | undefined;
    },
  ];
  CreateNamespace: [
    {
      name?: Text;
      region?: Text;
      replicas?: readonly string[] | undefined;
      retentionMs?: Count;
      description?: Text;
      ownerEmail?: Text;
      mode?: Text;
      maxLagMs?: Count;
    },
    { namespace?: NamespaceMessage | undefined },
  ];
  /** What is absent or empty stays as it is. */
  UpdateNamespace: [
    {
      namespace?: Text;
      /** Regions or cells, the active one besides; none: as they are. */
      replicas?: readonly string[] | undefined;
      retentionMs?: Count;
      description?: Text;
      ownerEmail?: Text;
      maxLagMs?: Count;
    },
    { namespace?: NamespaceMessage | undefined },
  ];
  DescribeNamespace: [{ namespace?: Text }, { namespace?: NamespaceMessage | undefined }];
  ListNamespaces: [Record<never, never>, { namespaces?: readonly NamespaceMessage[] | undefined }];
  PlanMove: [
    { namespace?: Text; to?: Text },
    {
      from?: Text;
      to?: Text;
      blockers?: readonly FindingMessage[] | undefined;
      notes?: readonly FindingMessage[] | undefined;
      predictedPauseMs?: Count;
      lane?: LaneMessage | undefined;
    },
  ];
  StartMove: [
    MoveName & { to?: Text; maxPauseMs?: Count; autoConfirm?: boolean | undefined },
    { move?: MoveMessage | undefined },
  ];
  DescribeMove: [
    MoveName,
    {
      move?: MoveMessage | undefined;
      active?: Text;
      epoch?: Count;
      lanes?: readonly LaneMessage[] | undefined;
    },
  ];
  ConfirmMove: [MoveName, { move?: MoveMessage | undefined }];
  AbortMove: [MoveName & { reason?: Text }, { move?: MoveMessage | undefined }];
  BackMove: [
    MoveName & { newMoveId?: Text; maxPauseMs?: Count },
    { move?: MoveMessage | undefined },
  ];
  VerifyNamespace: [
    {
      namespace?: Text;
      against?: Text;
      repair?: boolean | undefined;
      stored?: boolean | undefined;
    },
    {
      source?: Text;
      against?: Text;
      compared?: Count;
      equal?: Count;
      differences?: Count;
      moving?: Count;
      repaired?: Count;
      different?: readonly DifferenceMessage[] | undefined;
    },
  ];
  EstimateLoss: [
    { namespace?: Text; to?: Text },
    {
      active?: Text;
      to?: Text;
      epoch?: Count;
      estimates?: readonly LossEstimateMessage[] | undefined;
      /** Why FailOver is refused unless it says `incomplete`. */
      refusal?: Text;
    },
  ];
  FailOver: [
    MoveName & {
      to?: Text;
      epoch?: Count;
      reason?: Text;
      /** Also to a cell that never had a whole copy. */
      incomplete?: boolean | undefined;
    },
    { move?: MoveMessage | undefined },
  ];
  GetLossReport: [
    { namespace?: Text },
    {
      namespaceId?: Text;
      epoch?: Count;
      executions?: readonly LostExecutionMessage[] | undefined;
      omitted?: Count;
      /** Cells that may keep more of it. */
      unanswered?: readonly UnansweredMessage[] | undefined;
    },
  ];
};
export type AdminMethodName = keyof AdminCalls;
export type AdminRequest<M extends AdminMethodName> = AdminCalls[M][0];
export type AdminResponse<M extends AdminMethodName> = AdminCalls[M][1];

/** Fields in the order of their numbers, from 1: `name type`, `name type[]` for a list. Only ever append. */
const MESSAGES: Readonly<Record<string, string>> = {
  Cell: 'id string, region string, address string, shards int64',
  Move: 'id string, kind string, from string, to string, phase string, phase_since int64, started_at int64, max_pause_ms int64, auto_confirm bool, driver string, note string, outcome string, reason string, pause_ms int64, ended_at int64, back_of string, pause MovePause',
  MovePause:
    'gates_ms int64, drain_ms int64, compare_ms int64, switch_ms int64, open_ms int64, compared int64',
  Namespace:
    'id string, name string, description string, owner_email string, retention_ms int64, registered_at int64, state string, active string, replicas string[], epoch int64, placement string, mode string, policy string, max_lag_ms int64, moves Move[]',
  Lane: 'from string, to string, kind string, pending int64, lag_ms int64, copied int64, total int64, parked int64, dead_letters int64, acknowledged_ms_ago int64, why string',
  Finding: 'code string, says string',
  Difference: 'workflow_id string, run_id string, what string, why string',
  LossEstimate:
    'source string, heard_ms_ago int64, known_missing int64, lag_ms int64, unheard bool, copying bool, copied int64, total int64, unseeded bool, since int64',
  LostExecution:
    'workflow_id string, run_id string, outcome string, from_transition int64, to_transition int64, epoch int64, rolled_back string[], reapplied string[], may_have_run_twice string[], cell string',
  Unanswered: 'cell string, why string',
  DescribeFleetRequest: '',
  DescribeFleetResponse: 'revision int64, cells Cell[], namespaces Namespace[]',
  CreateNamespaceRequest:
    'name string, region string, replicas string[], retention_ms int64, description string, owner_email string, mode string, max_lag_ms int64',
  CreateNamespaceResponse: 'namespace Namespace',
  UpdateNamespaceRequest:
    'namespace string, replicas string[], retention_ms int64, description string, owner_email string, max_lag_ms int64',
  UpdateNamespaceResponse: 'namespace Namespace',
  DescribeNamespaceRequest: 'namespace string',
  DescribeNamespaceResponse: 'namespace Namespace',
  ListNamespacesRequest: '',
  ListNamespacesResponse: 'namespaces Namespace[]',
  PlanMoveRequest: 'namespace string, to string',
  PlanMoveResponse:
    'from string, to string, blockers Finding[], notes Finding[], predicted_pause_ms int64, lane Lane',
  StartMoveRequest:
    'namespace string, move_id string, to string, max_pause_ms int64, auto_confirm bool',
  StartMoveResponse: 'move Move',
  DescribeMoveRequest: 'namespace string, move_id string',
  DescribeMoveResponse: 'move Move, active string, epoch int64, lanes Lane[]',
  ConfirmMoveRequest: 'namespace string, move_id string',
  ConfirmMoveResponse: 'move Move',
  AbortMoveRequest: 'namespace string, move_id string, reason string',
  AbortMoveResponse: 'move Move',
  BackMoveRequest: 'namespace string, move_id string, new_move_id string, max_pause_ms int64',
  BackMoveResponse: 'move Move',
  VerifyNamespaceRequest: 'namespace string, against string, repair bool, stored bool',
  VerifyNamespaceResponse:
    'source string, against string, compared int64, equal int64, differences int64, moving int64, repaired int64, different Difference[]',
  EstimateLossRequest: 'namespace string, to string',
  EstimateLossResponse:
    'active string, to string, epoch int64, estimates LossEstimate[], refusal string',
  FailOverRequest:
    'namespace string, move_id string, to string, epoch int64, reason string, incomplete bool',
  FailOverResponse: 'move Move',
  GetLossReportRequest: 'namespace string',
  GetLossReportResponse:
    'namespace_id string, epoch int64, executions LostExecution[], omitted int64, unanswered Unanswered[]',
};

export type AdminMethod = {
  readonly name: AdminMethodName;
  /** `/service/name`, as in `:path`. */
  readonly path: string;
  readonly request: MessageType<unknown>;
  readonly response: MessageType<unknown>;
};

addToRoot();

/** By path. */
export const ADMIN_METHODS: ReadonlyMap<string, AdminMethod> = new Map(
  methodsOf(ADMIN_SERVICE).map(({ name, request, response }) => {
    const path = `/${ADMIN_SERVICE}/${name}`;
    const codecs = { request: messageType(request), response: messageType(response) };
    return [path, { name: name as AdminMethodName, path, ...codecs }];
  }),
);

function addToRoot(): void {
  const messages = Object.entries(MESSAGES).map(
    ([name, fields]) => [name, message(fields)] as const,
  );
  const names = Object.keys(MESSAGES).filter((name) => name.endsWith('Request'));
  const methods = names.map((requestType) => {
    const name = requestType.slice(0, -'Request'.length);
    return [name, { requestType, responseType: `${name}Response` }] as const;
  });
  const nested: object = {
    ...Object.fromEntries(messages),
    AdminService: { methods: Object.fromEntries(methods) },
  };
  const tree: object = { atoll: { nested: { admin: { nested: { v1: { nested } } } } } };
  descriptors.addJSON(tree as Parameters<typeof descriptors.addJSON>[0]);
  descriptors.lookup('atoll.admin')?.resolve();
}

function message(fields: string): object {
  const entries = fields.split(', ').filter((field) => field !== '');
  return {
    fields: Object.fromEntries(
      entries.map((entry, i) => {
        const [protoName = '', kind = ''] = entry.split(' ');
        const name = protoName.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
        const type = kind.replace('[]', '');
        const rule = kind.endsWith('[]') ? { rule: 'repeated' } : {};
        return [name, { id: i + 1, type, protoName, ...rule }];
      }),
    ),
  };
}
