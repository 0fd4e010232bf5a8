/**
 * The headers in which router and cell speak about placement (D8). A client's own headers of these names never pass
 * the router.
 */

/** Router → cell: the id of the namespace that the router found the call to be for. */
export const NAMESPACE_ID_HEADER = 'atoll-namespace-id';
/** Router → cell: the epoch that the router believed. Cell → router, on a refusal: the epoch that the cell knows. */
export const EPOCH_HEADER = 'atoll-epoch';
/** Router → cell: how many routers or cells have passed the call on. A cell does not forward one that has a hop. */
export const CALLER_HOP_HEADER = 'atoll-caller-hop';
/** Router → cell: the certificate name that the client showed the router; believed from a router's certificate alone. */
export const CALLER_CERTIFICATE_HEADER = 'atoll-caller-certificate';
/** Cell → router, in the trailers of a call of which nothing was done: why it refused. */
export const REFUSED_HEADER = 'atoll-refused';
/** Cell → router, on a refusal: the id of the cell that is active as far as this one knows. */
export const OWNER_HEADER = 'atoll-owner';

/** `REFUSED_HEADER` of a cell that is not active for the namespace. */
export const NOT_ACTIVE = 'not-active';
/** `REFUSED_HEADER` of a cell whose namespace is closed for its move (PROTOCOLS 8): hold the call, and send it again. */
export const HANDOVER = 'handover';
