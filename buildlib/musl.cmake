# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A toolchain file for musl's C library instead of glibc's, by Debian's musl-gcc. It finds only headers in musl's
# folder, and Debian has no library built with musl. Therefore a folder gets links to the kernel's headers and to
# those of the libraries that this tree uses, and the linker gets the libraries themselves. The programs run, because
# musl's loader accepts glibc's name for itself, and tests/packages/musl has the few functions of glibc that libnl
# needs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
execute_process(COMMAND cc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CMAKE_BUILD_RPATH ${CMAKE_BINARY_DIR}/lib /usr/lib/${multiarch})

if(NOT CMAKE_IN_TRY_COMPILE AND NOT EXISTS ${CMAKE_BINARY_DIR}/headers)
  set(headers ${CMAKE_BINARY_DIR}/headers)
  file(MAKE_DIRECTORY ${headers})
  foreach(header linux asm-generic ${multiarch}/asm libnl3 libudev.h systemd)
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK /usr/include/${header} ${headers}/${name} SYMBOLIC)
  endforeach()
  set(CMAKE_C_FLAGS_INIT "-isystem ${headers}")
  execute_process(COMMAND musl-gcc -D_GNU_SOURCE -O2 -fPIC -shared -o ${CMAKE_BINARY_DIR}/glibc_names.so
    ${CMAKE_CURRENT_LIST_DIR}/../tests/packages/musl/glibc_names.c COMMAND_ERROR_IS_FATAL ANY)
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--no-as-needed ${CMAKE_BINARY_DIR}/glibc_names.so -Wl,--as-needed")
endif()
# Ignore names that the libraries themselves need, such as glibc's versions.
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -Wl,--allow-shlib-undefined")
endforeach()
