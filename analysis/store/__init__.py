# SPDX-License-Identifier: BSD-3-Clause
"""All sessions, in Parquet files that DuckDB queries."""
