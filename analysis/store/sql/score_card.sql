-- SPDX-License-Identifier: BSD-3-Clause
-- What methods with servers say of themselves, in one session.
SELECT pattern, scale, mode, variant, stack, fs, processes, quantity,
    median(value) AS value, min(value) AS low, max(value) AS high, any_value(unit) AS unit,
    count(*) AS samples, any_value(document) AS document
FROM records
WHERE {where} AND method = 'ioserver' AND list_contains(?, quantity)
GROUP BY ALL
ORDER BY ALL
