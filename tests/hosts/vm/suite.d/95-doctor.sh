#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run rdma-doctor on a real kernel. Make each fault, check that rdma-doctor finds it with its exit code,
# cause and fix, and undo it. Mounts that hide files are made in a private namespace.

# Another user takes part, and the tree may be in a folder that only root may enter. Here it always is.
# The user reaches the programs by a folder that he may enter.
if [ -z "${DOCTOR_CLOSED-}" ]; then
    tree=$(readlink -f "$SUITE/../../..")
    DOCTOR_CLOSED=1 exec "$tree/tests/lib/below-closed" "$tree" "$tree/tests/lib/in-the-open" "$BUILD" "$0"
fi
BUILD=$OPEN_BUILD PATH=$OPEN_BUILD/bin:$PATH LD_LIBRARY_PATH=$OPEN_BUILD/lib

failed=0 count=0
uid1000="setpriv --reuid 1000 --regid 1000 --clear-groups"

# expect CODE CAUSE FIX COMMAND...: check that the command ends with the code and prints cause and
# fix.
expect()
{
    local code=$1 cause=$2 fix=$3 rc
    shift 3
    count=$((count + 1))
    "$@" >report 2>report.err
    rc=$?
    sed -i '/^rdma-doctor: watching /d' report.err
    if [ $rc = "$code" ] && head -n 1 report | grep -q -- "$cause" && [ ! -s report.err ] &&
        { [ -z "$fix" ] || sed -n 2p report | grep -q -- "^fix: .*$fix"; }; then
        return
    fi
    failed=1
    echo "FAILED: exit code $rc instead of $code, or not '$cause' and '$fix': $*"
    cat report report.err
}

# mounted COMMANDS -- COMMAND...: run the command in a private mount namespace, after the commands.
mounted()
{
    local commands=$1
    shift 2
    unshare -m --propagation private sh -c "$commands && exec \"\$@\"" sh "$@"
}

# The guest's root is that of the host, which may be a container. The guest is no container,
# whatever files are left over.
touch /.dockerenv

export UROCE=off
expect 0 'No fault' '' rdma-doctor
expect 0 'No fault' '' rdma-doctor --device vm0
expect 0 'No fault' '' $uid1000 rdma-doctor
expect 13 'rxe9 is not one of' rxe9 rdma-doctor -d rxe9

# A node health check.
expect 0 'No fault' '' rdma-doctor --strict --require 1
expect 0 'No fault' '' rdma-doctor --require rxe0,uverbs0
expect 25 '1 device works, 2 are required' 'dmesg' rdma-doctor --require 2
expect 25 'rxe7 is not there' 'rxe7' rdma-doctor --require rxe0 rxe7
expect 25 'uroce_none' '' env UROCE=on rdma-doctor --require uroce_none

# Locked memory.
expect 20 'RLIMIT_MEMLOCK is 0 bytes' 'limits.d' \
    $uid1000 sh -c 'ulimit -l 0; exec rdma-doctor'
expect 20 '65536 bytes' 'ulimit -l unlimited' \
    prlimit --memlock=65536:unlimited $uid1000 rdma-doctor
(ulimit -l 0 && exec $uid1000 sleep 100) &
until grep -q '^Uid:.1000' /proc/$!/status; do
    sleep 0.1
done
expect 20 'RLIMIT_MEMLOCK is 0 bytes' '' rdma-doctor --pid $!
kill $!
expect 20 'does not count' '' sh -c 'ulimit -l 0; exec unshare -Ur rdma-doctor'

# Nodes.
expect 14 'uverbs0 does not exist' 'mknod' \
    mounted 'mount -t tmpfs none /dev/infiniband' -- rdma-doctor
expect 14 'is not a character device' 'mknod' \
    mounted 'mount -t tmpfs none /dev/infiniband; touch /dev/infiniband/uverbs0' -- rdma-doctor
expect 14 'is character device 1:3' 'mknod' \
    mounted 'mount -t tmpfs none /dev/infiniband; mknod /dev/infiniband/uverbs0 c 1 3' -- rdma-doctor
expect 14 '/dev is private' 'bind /dev/infiniband' mounted 'mount -t tmpfs none /dev' -- rdma-doctor
node=$(stat -c '%Hr %Lr' /dev/infiniband/uverbs0)
expect 22 'rdma_cm does not exist' 'mknod' \
    mounted "mount -t tmpfs none /dev/infiniband; mknod /dev/infiniband/uverbs0 c $node" -- rdma-doctor
chmod 0600 /dev/infiniband/uverbs0
expect 15 'mode 0600, owner root' 'udev rule' $uid1000 rdma-doctor
chgrp 4 /dev/infiniband/uverbs0 && chmod 0660 /dev/infiniband/uverbs0
expect 15 'mode 0660' 'usermod -aG' $uid1000 rdma-doctor
chgrp 0 /dev/infiniband/uverbs0 && chmod 0666 /dev/infiniband/uverbs0
chmod 0600 /dev/infiniband/rdma_cm
expect 22 'rdma_cm: mode 0600' 'udev rule' $uid1000 rdma-doctor
chmod 0666 /dev/infiniband/rdma_cm
if mkdir cgroup && mount -t cgroup -o devices devices cgroup 2>/dev/null; then
    mkdir cgroup/closed && echo "c ${node/ /:} rwm" >cgroup/closed/devices.deny
    expect 15 'device cgroup does not permit' 'device cgroup' \
        sh -c 'echo $$ >cgroup/closed/cgroup.procs; exec rdma-doctor'
    rmdir cgroup/closed
    umount cgroup
else
    echo "this kernel has no device cgroup of version 1"
fi

# Limits of the rdma cgroup.
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +rdma >/sys/fs/cgroup/cgroup.subtree_control &&
    mkdir -p /sys/fs/cgroup/jobs/one && echo +rdma >/sys/fs/cgroup/jobs/cgroup.subtree_control || failed=1
for limit in hca_handle=0 hca_object=3; do
    echo "rxe0 hca_handle=max hca_object=max" >/sys/fs/cgroup/jobs/rdma.max
    echo "rxe0 $limit" >/sys/fs/cgroup/jobs/rdma.max
    expect 24 "rdma cgroup permits $limit" "rxe0 ${limit%=*}=max' > /sys/fs/cgroup/jobs/rdma.max" \
        sh -c 'echo $$ >/sys/fs/cgroup/jobs/one/cgroup.procs; exec rdma-doctor'
done
# Kernels do not take the limits of a removed cgroup from the device's list. Therefore the cgroup
# stays, without limits.
echo "rxe0 hca_handle=max hca_object=max" >/sys/fs/cgroup/jobs/rdma.max

# The ladders --transfer, --watch and --speed. A healthy host has no finding.
# line STATE RUNG WORDS: check a row of the last report.
line()
{
    grep -q "^[0-9]* $2  *$1  *.*$3" report || { failed=1; echo "FAILED: no line '$2 $1 $3'"; cat report; }
}
expect 0 'No fault' '' rdma-doctor --strict --transfer --watch 1 --speed
line ok rc 'rxe0: a SEND, an RDMA write and an RDMA read of 65536 bytes arrived'
line ok ud 'rxe0: 32 of 32 datagrams'
line ok latency 'rxe0: an RDMA write of 8 bytes'
line ok rate 'rxe0: large RDMA writes move'
for rung in links drops losses receivers; do
    line ok $rung ''
done
line ok hugepages 'huge pages are free'
expect 0 'No fault' '' $uid1000 rdma-doctor --transfer --watch 1 --speed

# Broken states of the host. 96-doctor-speed.sh has more of --watch, and 97-doctor-peer.sh those of --peer.
for limit in 5 6; do
    echo "rxe0 hca_handle=max hca_object=$limit" >/sys/fs/cgroup/jobs/rdma.max
    expect $((21 + limit)) "rdma cgroup permits hca_object=$limit" "rxe0 hca_object=max' > /sys/fs/cgroup/jobs/rdma.max" \
        sh -c 'echo $$ >/sys/fs/cgroup/jobs/one/cgroup.procs; exec rdma-doctor --transfer rxe0'
done
echo "rxe0 hca_handle=max hca_object=max" >/sys/fs/cgroup/jobs/rdma.max
pages=/sys/kernel/mm/transparent_hugepage/enabled
before=$(sed 's/.*\[\(.*\)\].*/\1/' $pages)
echo never >$pages
expect 50 'transparent ones are off' 'vm.nr_hugepages' rdma-doctor --speed
echo "$before" >$pages
expect 36 '192.0.2.77: ' 'rdma-doctor --serve on 192.0.2.77' rdma-doctor --peer 192.0.2.77
expect 36 '192.0.2.1: Connection refused' 'rdma-doctor --serve on 192.0.2.1' rdma-doctor --peer 192.0.2.1

# Provider and versions.
expect 16 'libibverbs.d' 'ibverbs-providers' \
    mounted 'mount -t tmpfs none $BUILD/lib/libibverbs.d; touch $BUILD/lib/libibverbs.d/.build-tree' -- \
    rdma-doctor
expect 16 "couldn't load driver" 'reinstall the package of the provider' \
    mounted 'mount --bind /dev/null $BUILD/lib/librxe-rdmav101.so' -- rdma-doctor
if theirs=$(ldconfig -p | sed -n 's/.*libibverbs\.so\.1 .*x86-64.* => //p' | head -n 1) && [ "$theirs" ]; then
    expect 16 "$theirs, the libibverbs that is loaded" 'one release' \
        env LD_LIBRARY_PATH="${theirs%/*}" rdma-doctor
fi
expect 17 'uverbs ABI 77' 'made for this kernel' \
    mounted 'mount -t tmpfs none /sys/class/infiniband_verbs;
        echo 77 >/sys/class/infiniband_verbs/abi_version' -- rdma-doctor
expect 17 'abi_version cannot be read' 'mount sysfs' \
    mounted 'mount -t tmpfs none /sys/class/infiniband_verbs' -- rdma-doctor
expect 22 'ABI 9' 'librdmacm' \
    mounted 'echo 9 >abi; mount --bind abi /sys/class/misc/rdma_cm/abi_version' -- rdma-doctor
expect 10 'sysfs is not mounted' 'mount -t sysfs' \
    mounted 'mount -t tmpfs none /sys' -- rdma-doctor

# Link and address.
ip link add dev link0 type veth peer name link1 && rdma link add rxe_link type rxe netdev link0
expect 18 'link0 is down' 'ip link set dev link0 up' rdma-doctor -d rxe_link
expect 0 'Not every device works; 1 note' '' rdma-doctor
expect 18 'rxe_link: port 1 is DOWN' '' rdma-doctor --strict
ip link set link0 up
ip link set link1 up
until grep -q ACTIVE /sys/class/infiniband/rxe_link/ports/1/state; do
    sleep 0.1
done
expect 19 'only link-local GIDs: link0' 'ip address add' rdma-doctor -d link0
rdma link delete rxe_link
ip link delete link0

# Namespaces. The mode can be changed only while there is no other network namespace.
rdma system set netns exclusive
expect 12 'this network namespace has no RDMA device' 'rdma dev set DEVICE netns' \
    unshare -n -m --propagation private \
    sh -c 'umount -l /sys; mount -t sysfs sysfs /sys; exec rdma-doctor'
expect 0 'No fault' '' rdma-doctor
rdma system set netns shared

# Modules. Afterwards they are loaded as the machine had them.
modprobe -r rdma_ucm
expect 22 'rdma_ucm is not loaded' 'modprobe rdma_ucm' rdma-doctor
rdma link delete rxe0
expect 13 'the kernel has no RDMA device' 'rdma link add' rdma-doctor
UROCE=auto expect 13 'although drivers are loaded (rdma_rxe)' 'dmesg' rdma-doctor
modprobe -r rdma_rxe ib_umad
UROCE=auto expect 0 'No fault' '' rdma-doctor
modprobe -r ib_uverbs
expect 10 'ib_uverbs is not loaded' 'modprobe ib_uverbs' rdma-doctor
modprobe -a ib_uverbs rdma_ucm ib_umad rdma_rxe && rdma link add rxe0 type rxe netdev vm0 || exit
until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state; do
    sleep 0.1
done
chmod 0666 /dev/infiniband/uverbs* /dev/infiniband/rdma_cm
expect 0 'No fault' '' rdma-doctor
rdma-doctor --json | python3 -c 'import json, sys; json.load(sys.stdin)' || failed=1
echo "$count reports"
exit $failed
