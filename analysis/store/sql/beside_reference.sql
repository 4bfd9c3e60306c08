-- SPDX-License-Identifier: BSD-3-Clause
-- The jobs of each case, as a site's references name it.
SELECT system, partition, stack, "case" AS test, processes, fsync, hints, quantity,
    list(middle ORDER BY started, session, run) AS found, any_value(document) AS document
FROM (
    SELECT partition, system, stack, "case", processes, fsync, hints, quantity,
        started, session, run, median(value) AS middle, any_value(document) AS document
    FROM records
    WHERE {chosen} AND quantity IN ('write_bw', 'read_bw')
    GROUP BY ALL
)
GROUP BY ALL
ORDER BY ALL
