/** Answers of `grpc.health.v1.Health/Check`. Place: frontend and router; probes ask with an empty name or a service's. */
import { AtollError } from '../kernel/errors.ts';
import { HEALTH_SERVICE, METHODS, methodOf } from './services.ts';

export const HEALTH_CHECK_PATH = `/${HEALTH_SERVICE}/Check`;

const SERVING_STATUS = { serving: 1, 'not-serving': 2 } as const;
const SERVICES = new Set([...METHODS.values()].map(({ service }) => service as string));

/**
 * The answer's bytes.
 * @throws AtollError `not-found` for a service that is not served here, `invalid-argument` for malformed bytes
 */
export function healthCheckResponse(
  request: Uint8Array,
  state: keyof typeof SERVING_STATUS,
): Uint8Array {
  const method = methodOf(HEALTH_CHECK_PATH);
  const { service = '' } = method.request.decode(request) as { service?: string };
  if (service !== '' && !SERVICES.has(service)) {
    throw new AtollError('not-found', `service ${service} is not served here`);
  }
  return method.response.encode({ status: SERVING_STATUS[state] });
}
