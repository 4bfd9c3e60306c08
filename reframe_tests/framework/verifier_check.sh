# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Part of a job's script (verifier_check.py). Open MPI's mpiexec sleeps for one or two seconds after a
# process failed, as most here do. `flip FOLDER NUMBER NAME` changes one bit of the folder's first file.
export OMPI_MCA_odls_base_sigkill_timeout=0
flip() {
    file=$(find "$1" -type f | LC_ALL=C sort | head -n 1)
    offset=$(($2 % $(wc -c <"$file")))
    byte=$(od -An -tu1 -j "$offset" -N 1 "$file" | tr -d ' ')
    printf %b "\\0$(printf %o $((byte ^ 1)))" |
        dd of="$file" bs=1 seek="$offset" conv=notrunc 2>/dev/null
    echo "$3 $offset" >>flipped
}
compared() {
    file=$(find "$1" -type f | LC_ALL=C sort | head -n 1)
    other=$(find "$2" -type f | LC_ALL=C sort | head -n 1)
    if [ -z "$file" ] || [ -z "$other" ]; then
        echo "$3 0 0 0" >>compared
        return
    fi
    words=$(find "$2" -type f -exec cat {} + | od -An -v -w8 -tx8 | LC_ALL=C sort -u | wc -l)
    echo "$3 $(wc -c <"$file") $words $(cmp -l "$file" "$other" | wc -l)" >>compared
}
