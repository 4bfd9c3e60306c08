#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a container runs: the quick suite, then table and report in /results.
#
#   run.sh SITE [REFRAME OPTIONS ...]      SITE: docker (also Podman's, Apptainer's), or spack
#                                          in the image made with Spack
#
# Options of ReFrame in place of the quick suite's: docker run iogauge -n S3d -t quick
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

site=$1
shift
(($# > 0)) || set -- -t quick

results=${IOGAUGE_OUTPUT:?}
if ! [[ -w $results ]]; then
    printf '%s\n' "error: $results is not writable for user $(id -u); do one of" \
        "  docker run --user \"\$(id -u):\$(id -g)\" -v \"\$PWD/results:$results\" ..." \
        "  podman run --userns keep-id --user \"\$(id -u):\$(id -g)\" -v \"\$PWD/results:$results\" ..." \
        "  apptainer run --bind \"\$PWD/results:$results\" ..." >&2
    exit 1
fi

status=0
RFM_PERF_INFO_LEVEL=verbose .venv/bin/reframe -C "site_configs/$site.py" --system "$site" \
    -c reframe_tests -R --exec-policy=serial "$@" -r || status=$?
export IOGAUGE_STORE=${IOGAUGE_STORE:-$results/store}
for step in summary report; do
    .venv/bin/iogauge "$step" --output "$results" ||
        { s=$?; ((status != 0)) || status=$s; }
done
exit "$status"
