# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The few words the sub-folders are written in. Sources are found, not listed: a file that is in the
# folder is in the target.

# The number in the names lib<provider>-rdmav<N>.so and IBVERBS_PRIVATE_<N>: a provider and the
# library work together only when both were built with the same one.
set(RDMA_PROVIDER_ABI 100)
add_compile_definitions(RDMA_PROVIDER_ABI=${RDMA_PROVIDER_ABI})

# rdma_public_headers(<folder> <file>...): usable from build/include and installed.
function(rdma_public_headers folder)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/${folder})
  foreach(header ${ARGN})
    get_filename_component(path ${header} ABSOLUTE)
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK ${path} ${CMAKE_BINARY_DIR}/include/${folder}/${name} SYMBOLIC)
    install(FILES ${path} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
endfunction()

# rdma_objects(<name> <sources>...): compiled once, linked into the library and into the unit tests.
function(rdma_objects name)
  add_library(${name}_objects OBJECT ${ARGN})
endfunction()

# rdma_library(<name> <soversion> <version> <map> LIBS <targets>...): the shared and the static
# library of rdma_objects(<name>).
function(rdma_library name soversion version map)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_library(${name} SHARED $<TARGET_OBJECTS:${name}_objects>)
  set_target_properties(${name} PROPERTIES SOVERSION ${soversion} VERSION ${version}
    LINK_DEPENDS ${map})
  target_link_options(${name} PRIVATE -Wl,--version-script=${map})
  target_link_libraries(${name} PRIVATE util ${arg_LIBS})
  add_library(${name}_static STATIC $<TARGET_OBJECTS:${name}_objects> $<TARGET_OBJECTS:util_objects>)
  set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name})
  install(TARGETS ${name} ${name}_static
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# rdma_pkgconfig(<name> <description> <private requirements>)
function(rdma_pkgconfig name description requires_private)
  configure_file(${CMAKE_SOURCE_DIR}/buildlib/pkgconfig.pc.in ${CMAKE_BINARY_DIR}/lib/pkgconfig/lib${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/lib${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# rdma_provider(<name> [LIBS <targets>...]): every *.c of the folder becomes the plug-in;
# <name>.driver says which devices it serves. Both are found from the build tree without installing.
function(rdma_provider name)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  rdma_objects(${name} ${sources})
  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects>)
  set_target_properties(${name} PROPERTIES PREFIX lib OUTPUT_NAME ${name}-rdmav${RDMA_PROVIDER_ABI})
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/buildlib/provider.map)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/buildlib/provider.map)
  target_link_libraries(${name} PRIVATE ibverbs util ${arg_LIBS})
  configure_file(${name}.driver ${CMAKE_BINARY_DIR}/lib/libibverbs.d/${name}.driver COPYONLY)
  install(TARGETS ${name} LIBRARY DESTINATION ${RDMA_PROVIDER_DIR})
  install(FILES ${name}.driver DESTINATION ${RDMA_CONFIG_DIR})
endfunction()

# rdma_program(<name> <install folder> SOURCES <files>... LIBS <targets>...): completion of its options
# comes with it, for programs that people call.
function(rdma_program name destination)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_compile_definitions(${name} PRIVATE RDMA_VERSION="${PROJECT_VERSION}")
  install(TARGETS ${name} RUNTIME DESTINATION ${destination})
  file(STRINGS ${CMAKE_SOURCE_DIR}/libibverbs/tools/completion.bash completed REGEX "^complete |^    [a-z]")
  if("${completed}" MATCHES "[ ;]${name}( |;|$)")
    install(FILES ${CMAKE_SOURCE_DIR}/libibverbs/tools/completion.bash
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${name})
  endif()
endfunction()

# rdma_native_test(<name> <command>...): on the user-space device of lo, in a network namespace of its
# own. The command is a path.
function(rdma_native_test name)
  add_test(NAME native/${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/lib/own-host ${ARGN})
  set_tests_properties(native/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
    ENVIRONMENT "UROCE=on:lo;RT_DEVICE=uroce0")
endfunction()

# rdma_unit_test(<name> SOURCES <files>... LIBS <targets>...): a cmocka program in tests/unit.
function(rdma_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} PkgConfig::CMOCKA)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit)
  add_test(NAME unit/${name} COMMAND ${name})
  set_tests_properties(unit/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()
