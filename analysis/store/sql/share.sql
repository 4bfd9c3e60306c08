-- SPDX-License-Identifier: BSD-3-Clause
-- One quantity as a share of another in the same repeat, by job.
WITH c AS (SELECT * FROM records WHERE {chosen}),
jobs AS (
    SELECT p.system, p.fs, p.fs_type, p.stack, p.processes, p.cores, p.pattern, p.scale,
        p.method, p.mode, p.variant, p.started, p.session, p.run,
        median(p.value / w.value) AS part
    FROM c p JOIN c w ON p.session = w.session AND p.run = w.run AND p.repeat = w.repeat
    WHERE p.quantity = ? AND w.quantity = ? AND w.value > 0 AND p.value > 0
    GROUP BY ALL
)
SELECT * EXCLUDE (started, session, run, part),
    list(part ORDER BY started, session, run) AS parts
FROM jobs
GROUP BY ALL
ORDER BY ALL
