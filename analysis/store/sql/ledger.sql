-- SPDX-License-Identifier: BSD-3-Clause
-- The byte ledgers of one session; `amounts`: a column for each of their numbers.
SELECT pattern, scale, method, mode, variant, stack, fs, processes, ledger, {amounts},
    document, trace
FROM records
WHERE session = ? AND ledger <> ''
GROUP BY ALL
ORDER BY pattern, scale, method, mode, variant, stack, fs, processes
