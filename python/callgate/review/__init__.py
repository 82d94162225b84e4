"""What a policy and a change of it mean, as data: what differs, what it does to recorded runs, what tests exercise."""
