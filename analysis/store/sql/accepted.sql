-- SPDX-License-Identifier: BSD-3-Clause
-- The jobs of each test case. `value`: of a repeat; `p`, if it is joined: its ceiling.
WITH c AS (SELECT * FROM records WHERE {chosen}),
jobs AS (
    SELECT {of_case}, v."case" AS test_case, v.unit, v.started, v.session, v.run,
        median({value}) AS value, count(*) AS repeats
    FROM c v {joined}
    WHERE v.quantity = ?
    GROUP BY ALL
)
SELECT {case}, test_case, unit,
    list(value ORDER BY started, session, run) AS found, min(repeats) AS repeats
FROM jobs
GROUP BY ALL
ORDER BY ALL
