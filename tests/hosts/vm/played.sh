# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Functions for items on a played device (run-vm --device efa, mlx4, mlx5 or mlx5-roce): both libraries, the program of the
# device, its removal and its faults.

device=${RT_DEVICE%_0}
plays=$(cat "/run/play_$device.pid")
case $device in
mlx4 | mlx5) driver=${device}_core ;;
*) driver=$device ;;
esac
failed=0

fail()
{
    echo "$*"
    failed=1
}

# with ours|theirs COMMAND...
with()
{
    case $1 in
    ours) "${@:2}" ;;
    theirs) PATH=/usr/sbin:/usr/bin:/sbin:/bin LD_LIBRARY_PATH='' "${@:2}" ;;
    esac
}

# pingpong ours|theirs KIND COUNT SIZE [events]
pingpong()
{
    with "$1" "$SUITE/../../adapters/lab/pair" 18515 -- -- "$BUILD/tests/adapters/lab/efa_pingpong" "${@:2}" >result 2>&1 ||
        { fail "$*:"; cat result; }
}

# Wait for the device. Its driver first waits for a register for only 50 ms, which a busy host may take. Then bind the
# driver again.
wait_device()
{
    local n
    for ((n = 1; n <= 1200; n++)); do
        [ ! -e "/sys/class/infiniband/$RT_DEVICE/ports/1/state" ] || return 0
        sleep 0.1
        [ $((n % 50)) != 0 ] || bind_all
    done
    fail "there is no $RT_DEVICE after two minutes"
}

wait_gone()
{
    local n
    for ((n = 0; n < 2400; n++)); do
        [ -e "/sys/class/infiniband/$RT_DEVICE" ] || return 0
        sleep 0.1
    done
    fail "$RT_DEVICE is still there after four minutes"
}

# Wait until the kernel has removed the function, and plug a new one in.
plug_in()
{
    until ! ls /sys/bus/pci/devices/1d1d:* >/dev/null 2>&1; do
        sleep 0.1
    done
    $(cat "/run/play_$device.command") >>"/run/play_$device.log" 2>&1 &
    plays=$!
    echo $plays >"/run/play_$device.pid"
    wait_device
}

# The address of the function on the played bus.
function_of()
{
    basename /sys/bus/pci/devices/1d1d:*
}

bind_all()
{
    function_of >"/sys/bus/pci/drivers/$driver/bind" 2>/dev/null
}

fault()
{
    echo "$*" >"/run/play_$device"
    until grep -q -x -F "fault: $*" "/run/play_$device.log"; do
        sleep 0.02
    done
    : >"/run/play_$device.log"
}
