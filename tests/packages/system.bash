# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What tests inside a system of the distribution say about it, and how they ask apt. The log is apt.log.

export DEBIAN_FRONTEND=noninteractive
failed=0

fail()
{
    echo "FAILED: $*"
    failed=1
}

die()
{
    echo "FAILED: $*"
    exit 1
}

apt()
{
    # As the system was made.
    apt-get -q -y -o Dpkg::Use-Pty=0 -o APT::Install-Recommends=false "$@" >>apt.log 2>&1 </dev/null
}

# Everything that is in /etc and /usr, but for what in-root copies: kind, owner, mode, place, link, sum.
files()
{
    find /etc /usr -xdev ! -path /etc/hosts ! -path /etc/resolv.conf -printf '%y %u:%g %m %p %l\n' | sort -k 4
    find /etc /usr -xdev -type f ! -path /etc/hosts ! -path /etc/resolv.conf -print0 | sort -z | xargs -0 md5sum
}

versions()
{
    # shellcheck disable=SC2016
    dpkg-query -W -f '${binary:Package}=${Version} ${db:Status-Abbrev}\n' | sort
}

# What links the libraries and does not find all it imports.
unresolved()
{
    # A package that is half unpacked has files that are none yet.
    grep -rlaE --exclude='*.dpkg-*' 'lib(ibverbs|rdmacm|mlx4|mlx5|efa|mana|ionic)\.so\.1' /usr/bin /usr/sbin /usr/lib | sort | while read -r file; do
        head -c 4 "$file" | grep -q ELF || continue
        ldd -r "$file" 2>&1 | grep -E 'not found|undefined symbol|not defined' | sed -E "s|^|$file |; s/\(0x.*//"
    done
}

# same BEFORE AFTER WHAT: they are lists
same()
{
    diff "$1" "$2" >"$1.diff" && return
    fail "$3:"
    sed 's/^/    /' "$1.diff" | head -n 60
}

# audit WHEN: no package is half there
audit()
{
    [ -z "$(dpkg --audit)" ] || fail "$1: dpkg --audit: $(dpkg --audit)"
}
