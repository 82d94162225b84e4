"""What callgate costs, as ratios against a baseline in the same run: `make bench`, or `python -m tests.bench`."""
