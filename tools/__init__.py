"""Tools for those who work on iogauge itself: `make bench`."""
