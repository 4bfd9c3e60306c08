-- SPDX-License-Identifier: BSD-3-Clause
-- By how much the ceilings beside the same case varied, on each file system.
SELECT fs, count(*) AS cases, median(ratio) AS typical, max(ratio) AS worst
FROM (
    SELECT fs, max(value) / min(value) AS ratio
    FROM records
    WHERE {where} AND value > 0
    GROUP BY {case}, quantity
    HAVING count(*) > 1
)
GROUP BY fs
ORDER BY fs
