"""What has to outlive a process: kept in a file, every operation atomic and idempotent on an id."""
