# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The language, the warnings and the sanitizers of every target.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_definitions(_GNU_SOURCE _FILE_OFFSET_BITS=64)
add_compile_options(
  -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla -Wformat=2 -Wpointer-arith
  -Wwrite-strings -Wundef -Wno-sign-compare -Wno-unused-parameter -Wno-missing-field-initializers
  -fno-strict-aliasing -fvisibility=hidden)
if(RDMA_WERROR)
  add_compile_options(-Werror)
endif()
add_compile_options($<$<C_COMPILER_ID:Clang>:-Wno-gnu-variable-sized-type-not-at-end>
  $<$<C_COMPILER_ID:Clang>:-Wno-format-nonliteral>)
# Maximum bytes of the stack frame of a function of the libraries, because programs call them from coroutines,
# too. Sanitizers and a build without optimization need more.
if(NOT RDMA_SANITIZE)
  set(RDMA_FRAME_LIMIT $<$<NOT:$<CONFIG:Debug>>:-Wframe-larger-than=6144>)
endif()
add_link_options(-Wl,--as-needed -Wl,-z,relro -Wl,-z,now)

# A debug build checks the project's own invariants and prints data-path messages.
add_compile_definitions($<$<CONFIG:Debug>:RDMA_DEBUG>)

# Objects do not name the folder in which they were built, so that two builds are equal.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=./build
  -ffile-prefix-map=../=./)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# Mark memory that the kernel writes for valgrind, if valgrind's header is installed.
find_path(VALGRIND_INCLUDE_DIR valgrind/memcheck.h)
mark_as_advanced(VALGRIND_INCLUDE_DIR)
if(VALGRIND_INCLUDE_DIR)
  set(valgrind_found ON)
else()
  set(valgrind_found OFF)
endif()
option(RDMA_VALGRIND "tell valgrind what the kernel writes (needs valgrind/memcheck.h)" ${valgrind_found})
if(RDMA_VALGRIND)
  add_compile_definitions(RDMA_VALGRIND)
endif()

if(RDMA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(RDMA_SANITIZE)
  add_compile_options(-fsanitize=${RDMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RDMA_SANITIZE})
else()
  add_link_options(-Wl,--no-undefined)
endif()

# Everything is usable from the build tree. Libraries, programs and headers have a folder each.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
include_directories(${CMAKE_BINARY_DIR}/include ${CMAKE_BINARY_DIR}/private ${CMAKE_SOURCE_DIR})

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(NL REQUIRED IMPORTED_TARGET libnl-3.0)

# Processors without atomic instructions for eight bytes need a library for them.
include(CheckCSourceCompiles)
check_c_source_compiles("#include <stdatomic.h>
  #include <stdint.h>
  _Atomic uint64_t word;
  int main(void) { return atomic_fetch_add(&word, 1); }" RDMA_ATOMIC_64)
if(NOT RDMA_ATOMIC_64)
  set(RDMA_ATOMIC_LIBS -latomic)
  link_libraries(${RDMA_ATOMIC_LIBS})
endif()

# Functions and headers of glibc that musl lacks: the lists of BSD, and two functions.
include(CheckIncludeFile)
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
foreach(function strerrorname_np:string.h:STRERRORNAME dlvsym:dlfcn.h:DLVSYM)
  string(REPLACE ":" ";" words ${function})
  list(GET words 0 symbol)
  list(GET words 1 header)
  list(GET words 2 name)
  check_symbol_exists(${symbol} ${header} RDMA_${name})
  if(RDMA_${name})
    add_compile_definitions(RDMA_HAVE_${name})
  endif()
endforeach()
check_symbol_exists(__GLIBC__ features.h RDMA_GLIBC)
unset(CMAKE_REQUIRED_DEFINITIONS)
check_include_file(sys/queue.h RDMA_SYS_QUEUE_H)
if(NOT RDMA_SYS_QUEUE_H)
  include_directories(${CMAKE_SOURCE_DIR}/util/compat)
endif()
