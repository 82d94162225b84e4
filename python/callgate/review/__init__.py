"""What a change of a policy means, as data: what differs, in which direction, and what it does to recorded runs."""
