-- SPDX-License-Identifier: BSD-3-Clause
-- The sessions of each case, by its `id`: when each was, and the median of its jobs' medians.
SELECT id, moment, median(job) AS middle
FROM (
    SELECT hash({columns}) AS id, epoch_us(started) AS moment, hash(session) AS number, run,
        median(value) AS job
    FROM records
    WHERE {where} AND started BETWEEN ? AND ?
    GROUP BY ALL
)
GROUP BY id, moment, number
ORDER BY id, moment, number
