# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A toolchain file: musl's C library in place of glibc's, by Debian's musl-gcc. That one sees no header outside musl's
# folder, and Debian has no library built with musl: a folder gets links to the kernel's headers and to those of the
# libraries this tree uses, and the linker the libraries themselves. What comes of it is compiled and linked against
# musl, every name found; it does not run, because the libraries want glibc.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})

set(headers ${CMAKE_BINARY_DIR}/headers)
if(NOT CMAKE_IN_TRY_COMPILE AND NOT IS_DIRECTORY /usr/include/linux)
  message(FATAL_ERROR "the kernel's headers are not in /usr/include")
endif()
execute_process(COMMAND cc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT CMAKE_IN_TRY_COMPILE)
  file(MAKE_DIRECTORY ${headers})
  foreach(header /usr/include/linux /usr/include/asm-generic /usr/include/${multiarch}/asm /usr/include/libnl3
          /usr/include/libudev.h /usr/include/systemd /usr/include/isa-l /usr/include/isa-l.h)
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK ${header} ${headers}/${name} SYMBOLIC)
  endforeach()
  set(CMAKE_C_FLAGS_INIT "-isystem ${headers}")
endif()
# The libraries' own needs, such as glibc's versions of names, are not looked at.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,--allow-shlib-undefined")
endforeach()
