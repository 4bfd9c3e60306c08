"""Site configurations: one file per site, and `common.py` for what every site shares."""
