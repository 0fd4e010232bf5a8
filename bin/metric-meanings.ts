/** What metrics mean, where the name alone does not say it: the `# HELP` lines of a scrape. */

export const METRIC_MEANINGS = {
  append_ms: 'One statement of the shard log, from sent to answered.',
  append_batch_rows: 'Shards whose records one append statement carried.',
  append_batch_bytes: 'Record bytes that one append statement carried.',
  append_rows_total: 'Appended rows by what became of them.',
  backlog_tasks: 'Tasks that wait for a poller.',
  backlog_oldest_age_ms: 'How long the oldest waiting task has been due.',
  schedule_to_start_ms: 'From when a task was due until a poller took it.',
  timer_lag_ms: 'How late clocks of runs rang.',
  shard_takeovers_total: 'Shards taken over by this process, the first time included.',
  shards_owned: 'Shards that this process owns now.',
  shards_missing: 'Shards that this process should own and does not.',
  scanner_passes_total: 'Full passes of the scanner over the open runs of a shard.',
  scanner_runs_total: 'Open runs that the scanner looked at.',
  scanner_heals_total: 'Pending work that nobody drove until the scanner found it: should stay 0.',
  task_failures_total: 'Tasks that workers failed, by cause.',
  tasks_held_total: 'Offers that a full queue refused: their owners hold them.',
  router_holds: 'Calls held while their namespace moves between cells.',
  router_retries_total: 'Calls sent again to the cell that is active for their namespace.',
} as const;
