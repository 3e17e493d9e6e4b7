# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Packagings set folders and parts by the option names of other releases. Each such option is the default of an
# option of this tree, which has precedence if both are given.

# distribution_folder(<theirs> <ours>): use a folder of another release's option as the default of
# ours.
function(distribution_folder theirs ours)
  if(DEFINED ${theirs} AND NOT DEFINED ${ours})
    get_filename_component(folder "${${theirs}}" ABSOLUTE BASE_DIR ${CMAKE_INSTALL_PREFIX})
    set(${ours} ${folder} CACHE PATH "by ${theirs}")
  endif()
endfunction()

# folder_default(<name> <folder>): if the user has not set the option, it follows the folder that contains it. The
# cache would keep its value if that folder changes.
macro(folder_default name folder)
  if(NOT DEFINED ${name})
    set(${name} ${folder})
  endif()
endmacro()

# distribution_switch(<theirs> <ours> <value where theirs is on> <value where it is off>)
function(distribution_switch theirs ours on off)
  if(DEFINED ${theirs} AND NOT DEFINED ${ours})
    if(${theirs})
      set(${ours} ${on} CACHE BOOL "by ${theirs}")
    else()
      set(${ours} ${off} CACHE BOOL "by ${theirs}")
    endif()
  endif()
endfunction()

distribution_folder(VERBS_PROVIDER_DIR RDMA_PROVIDER_DIR)
distribution_folder(CMAKE_INSTALL_UDEV_RULESDIR RDMA_UDEV_RULES_DIR)
distribution_folder(CMAKE_INSTALL_SYSTEMD_SERVICEDIR RDMA_UNIT_DIR)
distribution_folder(SYSUSERS_DIR RDMA_SYSUSERS_DIR)
distribution_switch(NO_MAN_PAGES RDMA_MAN_PAGES OFF ON)
distribution_switch(ENABLE_VALGRIND RDMA_VALGRIND ON OFF)

# The rules are in a folder below the folder of rdma_rename, because udev looks for both there.
if(DEFINED RDMA_UDEV_RULES_DIR AND NOT DEFINED RDMA_UDEV_DIR)
  get_filename_component(folder ${RDMA_UDEV_RULES_DIR} DIRECTORY)
  set(RDMA_UDEV_DIR ${folder} CACHE PATH "by RDMA_UDEV_RULES_DIR")
endif()

# These options ask for parts that this tree does not have, or always has.
foreach(option CMAKE_INSTALL_INITDDIR CMAKE_INSTALL_PERLDIR CMAKE_INSTALL_RUNDIR DISTRO_FLAVOUR ENABLE_RESOLVE_NEIGH
    ENABLE_STATIC IN_PLACE IOCTL_MODE NO_PYVERBS PYTHON_EXECUTABLE TRACING)
  if(DEFINED ${option})
    message(STATUS "${option} has no effect (${${option}}): packaging/README.md, \"Options\"")
  endif()
endforeach()
