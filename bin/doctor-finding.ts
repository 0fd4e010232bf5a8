/** What a check of `atoll doctor` found. */

/** `skipped`: nothing was configured to look at. */
export type Finding = {
  readonly what: string;
  readonly state: 'fine' | 'wrong' | 'skipped';
  /** What was seen; for `wrong` also what to do. */
  readonly says: string;
};
