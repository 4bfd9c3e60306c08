#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# pbs_nodes.sh COMMAND...: runs COMMAND on n1, the first node of an OpenPBS of two nodes.
#
# Wants root and an OpenPBS in PBS_EXEC, else in /opt/pbs (configured with
# --with-database-user=postgres). Each node is a network and UTS namespace: PBS refuses loopback
# addresses. /etc and /var/spool are private copies, which are gone with the namespaces.
# Queue `machine` has the nodes of pbs_lustre and of altix, which n1 says it has: what the scheduler
# places there starts on n1.

set -eu -o pipefail

export PBS_EXEC=${PBS_EXEC:-/opt/pbs}
if [[ $1 != --inside ]]; then
    exec unshare --net --uts --mount --pid --fork --mount-proc --kill-child bash "$0" --inside "$@"
fi
shift

mount -t tmpfs -o mode=755 none /var/spool
cp -a /etc /var/spool/etc
mount --bind /var/spool/etc /etc
[[ ! -d /run/systemd ]] || mount -t tmpfs none /run/systemd # PBS would enable its service

hostname n1
printf '%s\n' '127.0.0.1 localhost' '10.99.0.1 n1' '10.99.0.2 n2' > /etc/hosts
unshare --net --uts sleep infinity &
second=$!
while [[ $(readlink /proc/$second/ns/net) == "$(readlink /proc/self/ns/net)" ]]; do sleep 0.1; done
on() { # a node's number, and a command
    if [[ $1 == 2 ]]; then
        nsenter --target "$second" --net --uts "${@:2}"
    else
        "${@:2}"
    fi
}
ip link add pbs1 type veth peer name pbs2
ip link set pbs2 netns "$second"
on 2 hostname n2
for n in 1 2; do
    on $n ip link set lo up
    on $n ip addr add 10.99.0.$n/24 dev pbs$n
    on $n ip link set pbs$n up
done

start() { # a node's number, and yes for the server's node
    local home=/var/spool/pbs-n$1 server=0
    [[ $2 != yes ]] || server=1
    export PBS_CONF_FILE=/etc/pbs-n$1.conf
    printf '%s\n' "PBS_EXEC=$PBS_EXEC" "PBS_HOME=$home" PBS_SERVER=n1 PBS_START_MOM=1 \
        "PBS_START_SERVER=$server" "PBS_START_SCHED=$server" "PBS_START_COMM=$server" \
        PBS_CORE_LIMIT=unlimited PBS_SCP=/bin/false > "$PBS_CONF_FILE"
    on "$1" "$PBS_EXEC/libexec/pbs_habitat"
    # Output stays where the job writes it.
    # shellcheck disable=SC2016
    printf '%s\n' '$clienthost n1' '$clienthost n2' '$usecp *:/ /' >> "$home/mom_priv/config"
    printf '%s\n' "PBS_CONF_FILE=$PBS_CONF_FILE" "PBS_EXEC=$PBS_EXEC" >> "$home/pbs_environment"
    [[ $2 != yes ]] || machine "$home"
    on "$1" "$PBS_EXEC/libexec/pbs_init.d" start
}

machine() { # the first node's PBS_HOME
    {
        echo "\$configversion 2"
        for i in {1..1024}; do node "m$i" 20 61440 resources_available.model=ivy; done
        node image 512 1048576
    } > "$1/nodes"
    echo 'model type=string flag=h' >> "$1/server_priv/resourcedef"
    sed -i 's/^resources: "/&vntype, model, /' "$1/sched_priv/sched_config"
    on 1 "$PBS_EXEC/sbin/pbs_mom" -s insert machine "$1/nodes"
}

node() { # its name, CPUs and MiB, and what else it has
    printf "$1: %s\n" "resources_available.host=$1" "resources_available.ncpus=$2" \
        "resources_available.mem=$3mb" resources_available.vntype=machine "${@:4}"
}

{
    start 2 no
    start 1 yes
} > /var/spool/started 2>&1 || { cat /var/spool/started >&2; exit 1; }

export PATH=$PBS_EXEC/bin:$PBS_EXEC/sbin:$PATH
until qstat -B > /dev/null 2>&1; do sleep 1; done
qmgr <<'END'
create node n2
set server acl_roots = root
set server flatuid = true
set server job_history_enable = true
set server scheduling = true
set node n1 resources_available.ncpus = 2
set node n2 resources_available.ncpus = 2
set node n1 resources_available.vntype = node
set node n2 resources_available.vntype = node
set queue workq default_chunk.vntype = node
create queue machine queue_type = execution, enabled = true, started = true
set queue machine default_chunk.vntype = machine
END
until (($(pbsnodes -aSj | grep -c ' free ') == 1027)); do sleep 1; done

status=0
"$@" || status=$?
"$PBS_EXEC/libexec/pbs_init.d" stop > /dev/null
exit "$status"
