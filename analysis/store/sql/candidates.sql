-- SPDX-License-Identifier: BSD-3-Clause
-- The calls that write or read a pattern, each with its jobs and the shortest time of a repeat.
SELECT fs, scale, processes, fsync, method, mode, {call} AS call, stack, variant, hints, mpi_io,
    list(struct_pack(job := {job}, speed := middle) ORDER BY started, session, run) AS found,
    arg_max(document, started) AS document, min(took) AS shortest
FROM (
    SELECT * EXCLUDE (value, repeat, payload_bytes, unit),
        median(value) FILTER (unit <> 's') AS middle,
        coalesce(min(value) FILTER (unit = 's'), min(payload_bytes / 1048576 / value)) AS took
    FROM (
        SELECT fs, scale, processes, fsync, method, mode, stack, variant, hints, mpi_io,
            payload_bytes, session, repeat_no, run, order_seed, started, document, repeat,
            value, unit
        FROM records
        WHERE {where}
    )
    GROUP BY ALL
    HAVING middle > 0
)
GROUP BY ALL
ORDER BY ALL
