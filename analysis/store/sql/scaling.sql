-- SPDX-License-Identifier: BSD-3-Clause
-- Cases with two or more process counts on the session's system, relative to the fewest processes.
WITH s AS (SELECT DISTINCT system FROM records WHERE session = ?),
one AS (
    SELECT {case}, "mode", processes, quantity,
        median(value) AS mib_s, min(value) AS low, max(value) AS high, count(*) AS samples,
        arg_max(document, started) AS document
    FROM records
    WHERE {good} AND verdict = 'verified' AND NOT is_peak
        AND quantity IN ('write_bw', 'read_bw') AND system IN (SELECT system FROM s)
    GROUP BY ALL
),
without AS (
    SELECT {case}, "mode", quantity FROM one GROUP BY ALL HAVING min(processes) > 1
),
parallel AS (
    SELECT * FROM one
    UNION ALL BY NAME
    SELECT serial.* REPLACE (without.mode AS mode)
    FROM one AS serial JOIN without USING ({case}, quantity)
    WHERE serial.mode = 'serial' AND serial.processes = 1
)
SELECT *,
    mib_s / first_value(mib_s) OVER w AS speed_up,
    processes / first_value(processes) OVER w AS ideal
FROM parallel
WINDOW w AS (PARTITION BY {case}, "mode", quantity ORDER BY processes)
QUALIFY count(*) OVER (PARTITION BY {case}, "mode", quantity) > 1
ORDER BY {case}, "mode", quantity DESC, processes
