-- How PostgreSQL lays the rows out. Only speed depends on it: room for updates in place, rows of up to 8 KB kept whole
-- and uncompressed, and vacuum soon after the churn of a checkpoint rather than after a fifth of the table.
-- only: PostgreSQL

ALTER TABLE shard SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

ALTER TABLE shard_log ALTER COLUMN record SET STORAGE EXTERNAL;

ALTER TABLE shard_log SET (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 20000, autovacuum_analyze_scale_factor = 0.5);

ALTER TABLE run SET (fillfactor = 70, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE execution SET (fillfactor = 70, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE history SET (toast_tuple_target = 8160);

ALTER TABLE timer SET (autovacuum_vacuum_scale_factor = 0.02);

ALTER TABLE task SET (autovacuum_vacuum_scale_factor = 0.02);
