"""The actions of a cycle, one file each: enqueue, allocate, backfill."""
