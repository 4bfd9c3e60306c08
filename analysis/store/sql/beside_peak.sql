-- SPDX-License-Identifier: BSD-3-Clause
-- The jobs of each case, with the conditions by which `reached` knows their peak.
WITH every AS (
    SELECT {case}, caches, payload_bytes, quantity, started, session, run,
        median(value) AS value, any_value(document) AS document
    FROM records
    WHERE {chosen} AND (quantity IN ('write_bw', 'read_bw') OR quantity IN {rates})
    GROUP BY ALL
),
jobs AS (
    SELECT *, fsync AND quantity = 'write_bw' AS flushed
    FROM every
    QUALIFY quantity IN {rates}
        OR NOT bool_or(quantity IN {rates}) OVER (PARTITION BY session, run)
)
SELECT {case}, quantity, min_by(document, (started, session, run)) AS document,
    list(
        (
            hash(session, system, partition, fs, processes, caches, quantity, flushed),
            payload_bytes, run, value
        )
        ORDER BY started, session, run
    ) AS jobs
FROM jobs
GROUP BY ALL
