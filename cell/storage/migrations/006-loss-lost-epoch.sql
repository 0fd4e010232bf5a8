-- The epoch of the branch that lost, beside the epoch that won: a piece of it may be heard of only after further moves, and
-- the report tells by it which failover cost it. NULL in rows of an older release: the epoch below the one that won.

ALTER TABLE loss ADD COLUMN IF NOT EXISTS lost_epoch int8;
