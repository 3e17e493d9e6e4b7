#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# usage: faults.sh PROGRAM FAULTY-LIBRARY LIST [RULE...]
#
# Check that each rule of the list finds its fault within 1,000 programs. Print the table of documentation/conform.md: rule,
# fault, number of programs.

program=$1 library=$2 list=$3
shift 3
failed=0
printf '| rule | fault | programs |\n| --- | --- | --- |\n'
while read -r rule fault options; do
    [ "$rule" != "#" ] || continue
    case " ${*:-$rule} " in *" $rule "*) ;; *) continue ;; esac
    output=$(FAULTY=$fault LD_PRELOAD=$library "$program" --device "${RT_DEVICE:-uroce_lo}" --rules "$rule" --first --no-shrink \
        --quiet --patience 1 --programs 1000 ${options:+"$options"} 2>&1 | cat)
    count=$(echo "$output" | sed -n 's/^.*: \([0-9]*\) programs from seed.* 1 rules broken$/\1/p')
    printf '| %s | %s | %s |\n' "$rule" "$fault${options:+ (one process)}" "${count:-not noticed}"
    [ -n "$count" ] || failed=1
done <"$list"
exit $failed
