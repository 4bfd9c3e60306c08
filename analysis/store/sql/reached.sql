-- SPDX-License-Identifier: BSD-3-Clause
-- What was reached in the sessions of the chosen runs, by conditions.
SELECT
    hash(
        session, system, partition, fs, processes, caches,
        CASE
            WHEN starts_with(quantity, 'ceilings_files_')
                THEN replace(quantity, 'ceilings_files_', 'series_') || '_rate'
            WHEN starts_with(quantity, 'ceiling')
                THEN replace(quantity, 'ceiling_fpp_', '') || '_bw'
            ELSE quantity
        END,
        fsync AND quantity IN ('write_bw', 'ceiling_fpp_write')
    ),
    if(is_peak, repeat, NULL),
    run,
    if(quantity IN ('write_bw', 'read_bw') AND NOT is_peak, payload_bytes, 'inf'::DOUBLE),
    median(value),
    CASE
        WHEN is_peak THEN 'peak test'
        WHEN starts_with(quantity, 'ceiling') THEN 'same job'
        ELSE 'case'
    END AS source
FROM records
WHERE {good} AND started BETWEEN ? AND ?
    AND session IN (SELECT session FROM records WHERE {chosen}) AND value > 0
    AND (
        quantity IN ('ceiling_fpp_write', 'ceiling_fpp_read') AND method NOT IN ({behind})
        OR starts_with(quantity, 'ceilings_files_')
        OR method = 'posix' AND (
            quantity IN {rates}
            OR quantity IN ('write_bw', 'read_bw') AND (session, run) NOT IN (
                SELECT (session, run)
                FROM records
                WHERE started BETWEEN ? AND ?
                    AND session IN (SELECT session FROM records WHERE {chosen})
                    AND (quantity IN {rates} OR is_peak AND quantity = 'ceiling_fpp_write')
            )
        )
    )
GROUP BY ALL
