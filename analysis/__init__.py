"""Read recorded sessions and turn them into tables and pages: `python -m analysis --help`."""
