-- SPDX-License-Identifier: BSD-3-Clause
-- The jobs of each case, by its `id`, a job for each session: the first one's median.
SELECT id, number, arg_min(middle, run) AS middle
FROM (
    SELECT hash({columns}) AS id, hash(session) AS number, session, started, run,
        median(value) AS middle
    {chosen}
    GROUP BY ALL
)
GROUP BY id, number, session, started
ORDER BY id, started, session
