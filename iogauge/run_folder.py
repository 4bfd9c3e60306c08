# SPDX-License-Identifier: BSD-3-Clause
"""What a run leaves in its folder, by name (docs/architecture.md)."""

DOCUMENT = "result.json"  # docs/result-format.md
TRACE = "trace.darshan"
LEDGER = "ledger.json"  # docs/darshan.md
JOB_SCRIPT = "rfm_job.sh"
EXIT_STATUS = "exit_status"  # written by the job script as it ends
CASE = "case.json"  # what a test is, as it begins and ends: reframe_tests/framework/case_file.py
JOB = "job_id"  # scheduler and number of a job that was submitted
