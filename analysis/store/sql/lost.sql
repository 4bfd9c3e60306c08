-- SPDX-License-Identifier: BSD-3-Clause
-- Test cases with runs in some states.
SELECT system, partition, "case" AS test_case, stack,
    any_value(fs) AS fs, any_value(pattern) AS pattern, any_value(scale) AS scale,
    any_value(method) AS method, any_value(mode) AS mode, any_value(processes) AS processes,
    min_by(reason, run) AS reason, min_by(verdict, run) AS verdict,
    count(DISTINCT (session, run)) AS jobs
FROM records
WHERE {chosen}
GROUP BY system, partition, "case", stack
ORDER BY system, partition, "case", stack
