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
        "<host>" | "<address>" | ADDRESS)
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
    *) COMPREPLY=($(compgen -A hostname -- "$word")) ;;
    esac
    return 0
}

complete -F _rdma_programs ibv_devices ibv_devinfo ibv_asyncwatch ibv_rc_pingpong ibv_uc_pingpong \
    ibv_ud_pingpong ibv_srq_pingpong ibv_xsrq_pingpong cmtime mckey rping rcopy riostream rstream ucmatose udaddy udpong rdma_client rdma_server \
    rdma_xclient rdma_xserver rdma-conform rdma-doctor rdma-ndd show_gids uroce-run
