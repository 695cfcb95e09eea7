"""Models that run on your machine, or on one that you name."""
