# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The functions that the sub-folders use. Sources are found by pattern: each file of a folder
# belongs to its target.

# The number in the names lib<provider>-rdmav<N>.so and IBVERBS_PRIVATE_<N>. A provider works only
# with a library that was built with the same number.
set(RDMA_PROVIDER_ABI 101)
add_compile_definitions(RDMA_PROVIDER_ABI=${RDMA_PROVIDER_ABI})

# rdma_public_headers(<folder> <file>...): make headers usable from build/include, and install them.
function(rdma_public_headers folder)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/${folder})
  foreach(header ${ARGN})
    get_filename_component(path ${header} ABSOLUTE)
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK ${path} ${CMAKE_BINARY_DIR}/include/${folder}/${name} SYMBOLIC)
    install(FILES ${path} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
endfunction()

# rdma_objects(<name> <sources>...): compile objects once, for the library and for the unit tests.
function(rdma_objects name)
  add_library(${name}_objects OBJECT ${ARGN})
  target_compile_options(${name}_objects PRIVATE ${RDMA_FRAME_LIMIT})
endfunction()

# rdma_runpath(<target> <folder> <destination>): let a target of the build tree find this tree's libraries in
# <folder>, relative to its own folder. Installed into <destination> it has no such path. CMake would do the same, but
# it ends the path of a target that will be installed with a ':', and the dynamic linker takes the empty name behind
# the ':' for the current folder.
function(rdma_runpath target folder destination)
  if(CMAKE_INSTALL_RPATH) # the packager's
    return()
  endif()
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "\$ORIGIN${folder};${CMAKE_BUILD_RPATH}")
  if(NOT IS_ABSOLUTE "${destination}")
    set(destination "\${CMAKE_INSTALL_PREFIX}/${destination}")
  endif()
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}${destination}/$<TARGET_FILE_NAME:${target}>\")")
endfunction()

# rdma_library(<name> <soversion> <version> <map> OBJECTS <targets>... LIBS <targets>...): make the
# shared library of these rdma_objects().
function(rdma_library name soversion version map)
  cmake_parse_arguments(arg "" "" "OBJECTS;LIBS" ${ARGN})
  add_library(${name} SHARED)
  foreach(target ${arg_OBJECTS})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${target}_objects>)
  endforeach()
  set_target_properties(${name} PROPERTIES SOVERSION ${soversion} VERSION ${version}
    LINK_DEPENDS ${map})
  target_link_options(${name} PRIVATE -Wl,--version-script=${map})
  target_link_libraries(${name} PRIVATE util ${arg_LIBS})
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if("ibverbs" IN_LIST arg_LIBS)
    rdma_runpath(${name} "" ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

# rdma_archive(<name> [OBJECTS <targets>...] [INSTEAD_OF <file>...] [MEMBERS <targets>...] [OPTIONS <options
# of buildlib/static-archive>...]): make lib<name>.a of these rdma_objects(). Leave out the files after
# INSTEAD_OF of the first target. The targets after MEMBERS are separate members.
function(rdma_archive name)
  cmake_parse_arguments(arg "" "" "OBJECTS;INSTEAD_OF;MEMBERS;OPTIONS" ${ARGN})
  set(archive ${CMAKE_BINARY_DIR}/lib/lib${name}.a)
  set(script ${CMAKE_SOURCE_DIR}/buildlib/static-archive)
  list(POP_FRONT arg_OBJECTS first)
  set(objects "$<TARGET_OBJECTS:${first}_objects>")
  foreach(file ${arg_INSTEAD_OF})
    string(REPLACE "." "[.]" pattern ${file}.o)
    set(objects "$<FILTER:${objects},EXCLUDE,/${pattern}$>")
  endforeach()
  set(needed)
  foreach(target ${arg_OBJECTS})
    list(APPEND objects $<TARGET_OBJECTS:${target}_objects>)
  endforeach()
  foreach(target ${first} ${arg_OBJECTS} ${arg_MEMBERS})
    list(APPEND needed $<TARGET_OBJECTS:${target}_objects>)
  endforeach()
  set(options ${arg_OPTIONS})
  foreach(target ${arg_MEMBERS})
    list(APPEND options --member $<JOIN:$<TARGET_OBJECTS:${target}_objects>,$<SEMICOLON>--member$<SEMICOLON>>)
  endforeach()
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} AR=${CMAKE_AR} OBJCOPY=${CMAKE_OBJCOPY}
      ${script} ${archive} ${options} -- ${objects} $<TARGET_FILE:util>
    DEPENDS ${needed} util ${script}
    COMMENT "Archive lib/lib${name}.a" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name}_archive ALL DEPENDS ${archive})
  # Unix Makefiles know the rule of an object only in its own target. Therefore that target must come
  # first.
  foreach(target ${first} ${arg_OBJECTS} ${arg_MEMBERS})
    add_dependencies(${name}_archive ${target}_objects)
  endforeach()
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# rdma_pkgconfig(<name> <description> <private requirements> <private libraries> [<target>]): make one file for
# users of the build tree and one that is installed. The version is that of the shared library <target>, by
# default <name>.
function(rdma_pkgconfig name description requires_private libs_private)
  set(target ${name} ${ARGN})
  list(POP_BACK target last)
  get_target_property(version ${last} VERSION)
  set(libdir ${CMAKE_BINARY_DIR}/lib)
  set(includedir ${CMAKE_BINARY_DIR}/include)
  configure_file(${CMAKE_SOURCE_DIR}/buildlib/pkgconfig.pc.in ${libdir}/pkgconfig/lib${name}.pc @ONLY)
  set(libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  set(installed ${CMAKE_BINARY_DIR}/installed/lib${name}.pc)
  configure_file(${CMAKE_SOURCE_DIR}/buildlib/pkgconfig.pc.in ${installed} @ONLY)
  install(FILES ${installed} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# Make the parts of an archive beside the provider's objects: the name that programs refer to, and
# the text of the driver file.
function(rdma_linked_provider name)
  file(READ ${name}.driver text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\t\t\"" text "${text}")
  set(text "\"${text}\"")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/linked_${name}.c)
  configure_file(${CMAKE_SOURCE_DIR}/libibverbs/static/provider.c.in ${source} @ONLY)
  rdma_objects(${name}_linked ${source})
endfunction()

# rdma_provider_library(<name> <soversion> <version> <map> OBJECTS <targets>... LIBS <targets>...): make lib<name>,
# whose public names are direct verbs, with the headers of direct/infiniband/. If the library contains the provider,
# the name of the plug-in is a link to it, so that direct verbs and devices of a program use the same copy.
function(rdma_provider_library name soversion version map)
  cmake_parse_arguments(arg "" "" "OBJECTS;LIBS" ${ARGN})
  set(direct ${CMAKE_CURRENT_SOURCE_DIR}/direct)
  file(GLOB headers CONFIGURE_DEPENDS ${direct}/infiniband/*.h)
  rdma_public_headers(infiniband ${headers})
  file(GLOB parts CONFIGURE_DEPENDS ${direct}/infiniband/${name}/*.h)
  if(parts)
    rdma_public_headers(infiniband/${name} ${parts})
  endif()
  # An archive cannot have old versions of names.
  file(GLOB compat CONFIGURE_DEPENDS ${direct}/compat/*.c)
  if(compat)
    rdma_objects(${name}_compat ${compat})
    list(APPEND arg_OBJECTS ${name}_compat)
  endif()
  rdma_library(${name} ${soversion} ${version} ${CMAKE_CURRENT_SOURCE_DIR}/${map} OBJECTS ${arg_OBJECTS}
    LIBS ibverbs ${arg_LIBS})
  rdma_pkgconfig(${name} "Direct verbs of ${name} devices" "libibverbs" "")
endfunction()

# rdma_provider(<name> [WITH <folders>...] [OPTIONAL] [LIBRARY <soversion> <version> <map>] [LIBS <targets>...]
# [ARCHIVE <more arguments of rdma_archive>...]): make a plug-in of every *.c of the folder and its rooms, and an
# archive for static programs. <name>.driver names the devices that it serves. The files of direct/ are its direct
# verbs. With LIBRARY they are part of the plug-in, by rdma_provider_library(). Otherwise they are a library of their
# own. WITH: folders of providers/ that the plug-in contains. Plug-in and driver file are found from the build tree
# without installing. OPTIONAL: packaged separately, so its file is not left in /etc, where other releases would
# complain about it. guardian/ makes a program of its own.
function(rdma_provider name)
  cmake_parse_arguments(arg "OPTIONAL" "" "WITH;LIBRARY;LIBS;ARCHIVE" ${ARGN})
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  set(plugin ${name}-rdmav${RDMA_PROVIDER_ABI})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*/*.c ${folder}/*/*/*.c)
  if(arg_LIBRARY)
    list(FILTER sources EXCLUDE REGEX "/direct/compat/")
  else()
    list(FILTER sources EXCLUDE REGEX "/direct/")
  endif()
  list(FILTER sources EXCLUDE REGEX "/guardian/[^/]*$")
  rdma_objects(${name} ${sources})
  set(objects ${name} ${arg_WITH})
  if(arg_LIBRARY)
    rdma_provider_library(${name} ${arg_LIBRARY} OBJECTS ${objects} LIBS ${arg_LIBS})
    list(GET arg_LIBRARY 0 soversion)
    file(CREATE_LINK lib${name}.so.${soversion} ${CMAKE_BINARY_DIR}/lib/lib${plugin}.so SYMBOLIC)
    file(RELATIVE_PATH installed ${RDMA_PROVIDER_DIR} ${CMAKE_INSTALL_FULL_LIBDIR}/lib${name}.so.${soversion})
    file(CREATE_LINK ${installed} ${CMAKE_BINARY_DIR}/installed/lib${plugin}.so SYMBOLIC)
    install(FILES ${CMAKE_BINARY_DIR}/installed/lib${plugin}.so DESTINATION ${RDMA_PROVIDER_DIR})
  else()
    add_library(${name} MODULE)
    foreach(target ${objects})
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:${target}_objects>)
    endforeach()
    set_target_properties(${name} PROPERTIES PREFIX lib OUTPUT_NAME ${plugin} LINKER_LANGUAGE C)
    target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/buildlib/provider.map)
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/buildlib/provider.map)
    target_link_libraries(${name} PRIVATE ibverbs util ${arg_LIBS})
    install(TARGETS ${name} LIBRARY DESTINATION ${RDMA_PROVIDER_DIR})
    rdma_runpath(${name} "" ${RDMA_PROVIDER_DIR})
  endif()
  configure_file(${name}.driver ${CMAKE_BINARY_DIR}/lib/libibverbs.d/${name}.driver COPYONLY)
  if(arg_OPTIONAL)
    install(FILES ${name}.driver DESTINATION ${RDMA_VENDOR_DIR})
  else()
    install(FILES ${name}.driver DESTINATION ${RDMA_CONFIG_DIR})
  endif()
  rdma_linked_provider(${name})
  cmake_parse_arguments(archive "" "" "OBJECTS;INSTEAD_OF" ${arg_ARCHIVE})
  rdma_archive(${plugin} OBJECTS ${objects} ${name}_linked ${archive_OBJECTS}
    INSTEAD_OF ${archive_INSTEAD_OF} OPTIONS --hide verbs_provider_entry)
  if(arg_LIBRARY)
    file(CREATE_LINK lib${plugin}.a ${CMAKE_BINARY_DIR}/lib/lib${name}.a SYMBOLIC)
    install(FILES ${CMAKE_BINARY_DIR}/lib/lib${name}.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  set_property(GLOBAL APPEND PROPERTY RDMA_PROVIDERS ${name})
endfunction()

# rdma_installed_text(<file> <name>): replace the folders of a usual installation, which rules, units and
# scripts name, by those of this build, in <name> of the build folder.
function(rdma_installed_text file name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REPLACE "/etc/rdma/" "${CMAKE_INSTALL_FULL_SYSCONFDIR}/rdma/" text "${text}")
  string(REPLACE "/etc/libibverbs.d" "${RDMA_CONFIG_DIR}" text "${text}")
  string(REPLACE "/usr/lib/udev/" "${RDMA_UDEV_DIR}/" text "${text}")
  string(REPLACE "/usr/share/doc/rdma-core/" "${CMAKE_INSTALL_FULL_DOCDIR}/" text "${text}")
  set(installed ${CMAKE_CURRENT_BINARY_DIR}/${name})
  if(EXISTS ${installed})
    file(READ ${installed} before)
  endif()
  if(NOT text STREQUAL before)
    file(WRITE ${installed} "${text}")
  endif()
endfunction()

# rdma_output_checked(<program>): make lost output an error of the program, and fit lines to a terminal.
function(rdma_output_checked name)
  target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/util/program/output.c ${CMAKE_SOURCE_DIR}/util/program/columns.c)
  target_link_options(${name} PRIVATE -Wl,--wrap=main,--wrap=exit)
endfunction()

# rdma_program(<name> <install folder> SOURCES <files>... LIBS <targets>...): make a program. Programs
# that people call also get a completion of their options.
function(rdma_program name destination)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  rdma_output_checked(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_compile_definitions(${name} PRIVATE RDMA_VERSION="${PROJECT_VERSION}")
  install(TARGETS ${name} RUNTIME DESTINATION ${destination})
  if(destination STREQUAL CMAKE_INSTALL_BINDIR) # those elsewhere need none of the libraries
    rdma_runpath(${name} /../lib ${destination})
  endif()
  file(STRINGS ${CMAKE_SOURCE_DIR}/libibverbs/tools/completion.bash completed REGEX "^complete |^    [a-z]")
  if("${completed}" MATCHES "[ ;]${name}( |;|$)")
    install(FILES ${CMAKE_SOURCE_DIR}/libibverbs/tools/completion.bash
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${name})
  endif()
endfunction()

# rdma_native_test(<name> <command>...): run a test on the user-space device of lo in a new network
# namespace. The command is a path.
function(rdma_native_test name)
  add_test(NAME native/${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/lib/own-host ${ARGN})
  set_tests_properties(native/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900
    ENVIRONMENT "UROCE=on:lo;RT_DEVICE=uroce_lo")
endfunction()

# rdma_native_test_of_users(<name> <program of the build>): run a test with processes of another user. It runs once in
# a place where they reach the build, and once where they do not, so that a test that forgets about this fails on
# every machine.
function(rdma_native_test_of_users name program)
  rdma_native_test(${name} ${CMAKE_SOURCE_DIR}/tests/lib/below-closed ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/tests/lib/in-the-open ${CMAKE_BINARY_DIR} sh -c "exec \"$OPEN_BUILD/${program}\"")
endfunction()

# rdma_unit_test(<name> SOURCES <files>... LIBS <targets>...): make a cmocka program of tests/unit. The data-race
# sanitizer needs only the tests that start threads, whose sources contain the word. RDMA_UNIT_TESTS names the tests
# of a port. RDMA_EMULATOR_FAILS names the tests that this machine's emulator cannot run. They are skipped with the
# reason.
function(rdma_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} PkgConfig::CMOCKA)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit)
  if(RDMA_ARCHITECTURE STREQUAL s390x)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/zpci.c)
    target_link_options(${name} PRIVATE -Wl,--wrap=syscall)
  endif()
  if(NOT name MATCHES "${RDMA_UNIT_TESTS}")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(RDMA_SANITIZE STREQUAL thread)
    set(threads)
    foreach(source ${arg_SOURCES})
      get_filename_component(path ${source} ABSOLUTE)
      file(STRINGS ${path} lines REGEX thread)
      list(APPEND threads ${lines})
    endforeach()
    if(NOT threads)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
  endif()
  if(NOT TARGET unit-tests)
    add_custom_target(unit-tests)
  endif()
  add_dependencies(unit-tests ${name})
  if(RDMA_EMULATOR_FAILS AND name MATCHES "${RDMA_EMULATOR_FAILS}")
    add_test(NAME unit/${name} COMMAND sh -c
      "echo 'not run: the emulator of this machine cannot (documentation/ports.md)'; exit 77")
  else()
    add_test(NAME unit/${name} COMMAND ${name})
  endif()
  set_tests_properties(unit/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()

# rdma_nightly(<reason> <test>...): exclude tests from ./dev test, whose summary gives the reason. ./dev test --all
# runs them.
function(rdma_nightly reason)
  foreach(test ${ARGN})
    set_property(TEST ${test} APPEND PROPERTY LABELS nightly)
    file(APPEND ${CMAKE_BINARY_DIR}/tests/left-out "${reason}\n")
  endforeach()
endfunction()

# rdma_nightly_sanitized(<reason> <test>...): rdma_nightly() in builds with a sanitizer.
function(rdma_nightly_sanitized)
  if(RDMA_SANITIZE)
    rdma_nightly(${ARGV})
  endif()
endfunction()
