#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# dracut: put RDMA into the initramfs, for a root file system that is reached over it.

# An image for this host contains RDMA if the host has a device. An image for any host would contain every
# RDMA driver, so it has them only on request: by --add rdma or by the file /etc/rdma/initramfs. The word
# "no" in that file keeps RDMA out of this host's image, too. 255 means: only on request.
check()
{
    local wish=
    require_any_binary systemctl modprobe || return 1
    if [[ -e ${dracutsysrootdir-}/etc/rdma/initramfs ]]; then
        read -r wish <"${dracutsysrootdir-}/etc/rdma/initramfs"
        [[ $wish != no ]] && return 0
        return 255
    fi
    [[ ${hostonly-} ]] && compgen -G '/sys/class/infiniband/*' >/dev/null && return 0
    return 255
}

depends()
{
    echo udev-rules
}

installkernel()
{
    # The modules of the lists, and every driver of an RDMA device ("=" names a folder of modules).
    hostonly='' instmods '=drivers/infiniband/core' '=drivers/infiniband/hw' '=drivers/infiniband/sw'
    sed -e 's/#.*//' "${dracutsysrootdir-}"/etc/rdma/modules/*.conf | hostonly='' instmods
}

install()
{
    inst_rules 60-rdma-persistent-naming.rules 75-rdma-description.rules \
        90-rdma-hw-modules.rules 90-rdma-ulp-modules.rules 90-rdma-umad.rules
    inst_libdir_file 'libnl-3.so*'
    inst_multiple -o /lib/udev/rdma_rename /usr/lib/udev/rdma_rename
    inst_multiple -o /etc/rdma/modules/*.conf /etc/modprobe.d/mlx4.conf
    if dracut_module_included systemd; then
        inst_multiple -o "$systemdsystemunitdir/rdma-hw.target" \
            "$systemdsystemunitdir/rdma-load-modules@.service" "$systemdutildir/systemd-modules-load"
    fi
}
