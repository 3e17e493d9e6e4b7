# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion of the programs' options for bash. What a program has is read from its own --help, so that there
# is no second list to keep. Installed once, as a file for each program.

# Options in the help: "-d", "--ib-dev=", each once. $1: the program
_rdma_options()
{
    "$1" --help 2>/dev/null | grep -oE '(^|[[:space:],[])--?[A-Za-z][A-Za-z0-9_-]*=?' |
        grep -oE -e '--?[A-Za-z].*' | sort -u
}

# What the help calls the value of option $2 of program $1: "<dev>", "DEVICE", "ADDRESS"; nothing: it has none.
_rdma_value()
{
    "$1" --help 2>/dev/null | sed -nE "s/^(.*[[:space:],[])?$2(, --[a-z-]+)?[= ](<[a-z]+>|[A-Z]+).*/\3/p" | head -n 1
}

# What the usage in the help of program $1 takes besides options: PROGRAM, SOURCE, a host, or nothing.
_rdma_argument()
{
    "$1" --help 2>/dev/null | sed -n '1,/^$/p' | grep -oE -e 'PROGRAM|SOURCE|PEER|<host>' | head -n 1
}

# Whether an argument that is no option and no value of one is before the current word. $1: the program
_rdma_has_argument()
{
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -*) [ -z "$(_rdma_value "$1" "${COMP_WORDS[i]}")" ] || i=$((i + 1)) ;;
        *) return 0 ;;
        esac
    done
    return 1
}

_rdma_complete_argument()
{
    local program=$1 word=$2
    case $(_rdma_argument "$program") in
    PROGRAM)
        if _rdma_has_argument "$program"; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
        fi
        ;;
    SOURCE)
        if _rdma_has_argument "$program"; then
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    ?*) mapfile -t COMPREPLY < <(compgen -A hostname -- "$word") ;;
    esac
}

_rdma_programs()
{
    local program=$1 word=$2 before=$3 option=
    case $before in
    =) option=${COMP_WORDS[COMP_CWORD - 2]} ;;
    -*) option=$before ;;
    esac
    [ "$word" != = ] || { option=$before word=; }
    COMPREPLY=()
    if [ -n "$option" ]; then
        case $(_rdma_value "$program" "$option") in
        "<dev>" | DEVICE)
            COMPREPLY=($(compgen -W "$(ibv_devices 2>/dev/null | sed '1,2d' | awk '{ print $1 }')" -- "$word"))
            return
            ;;
        DIR)
            mapfile -t COMPREPLY < <(compgen -d -- "$word")
            return
            ;;
        FILE)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        "<host>" | "<address>" | ADDRESS | HOST)
            COMPREPLY=($(compgen -A hostname -- "$word"))
            return
            ;;
        "") ;;
        *) return ;;
        esac
    fi
    case $word in
    -*)
        COMPREPLY=($(compgen -W "$(_rdma_options "$program")" -- "$word"))
        # The value of a long option follows without a space.
        [[ ${COMPREPLY[0]-} != *= || ${#COMPREPLY[@]} != 1 ]] || compopt -o nospace 2>/dev/null
        ;;
    *) _rdma_complete_argument "$program" "$word" ;;
    esac
    return 0
}

complete -F _rdma_programs ibv_devices ibv_devinfo ibv_asyncwatch ibv_rc_pingpong ibv_uc_pingpong \
    ibv_ud_pingpong ibv_srq_pingpong ibv_xsrq_pingpong cmtime mckey rping rcopy riostream rstream ucmatose udaddy udpong rdma_client rdma_server \
    rdma_xclient rdma_xserver rdma-conform rdma-doctor rdma-ndd show_gids uroce-run
