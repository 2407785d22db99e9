# cmake/ingot.cmake: how this project makes its libraries, programs, tests and fuzzers.

include(GoogleTest)

option(INGOT_WERROR "Treat compiler warnings as errors" ON)
option(INGOT_TESTS "Build the tests, fuzzers and benchmarks" ON)
option(INGOT_FUZZ "Build the fuzzers with libFuzzer (clang only)" OFF)
set(INGOT_SANITIZE "" CACHE STRING "Sanitizers to build with: 'address,undefined' or 'thread'")

find_program(INGOT_CCACHE ccache)
if(INGOT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${INGOT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${INGOT_CCACHE})
endif()

# ingot_common: what all code of ours is compiled with, that of the compiled models too.
add_library(ingot_common INTERFACE)
target_compile_features(ingot_common INTERFACE cxx_std_20)
target_include_directories(ingot_common INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_compile_options(ingot_common INTERFACE
  -Wall -Wextra -Wpedantic -Werror=switch
  # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # clang 14 has not heard that C++20 lets a variadic macro be called without its last argument.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>
  $<$<BOOL:${INGOT_WERROR}>:-Werror>
  $<$<CONFIG:Release>:-O2>
  # Names in messages and dumps must not tell where the tree lies.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# ingot_settings: the same with the sanitizers asked for; what every target of the build takes.
add_library(ingot_settings INTERFACE)
target_link_libraries(ingot_settings INTERFACE ingot_common)
if(INGOT_SANITIZE)
  target_compile_options(ingot_settings INTERFACE
    -fsanitize=${INGOT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ingot_settings INTERFACE -fsanitize=${INGOT_SANITIZE})
  target_compile_definitions(ingot_settings INTERFACE INGOT_SANITIZED=1)
endif()
if(INGOT_FUZZ)
  target_compile_options(ingot_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ingot_find_library(NAME HEADER LIBRARY): an imported target `NAME` for a library that brings no
#   CMake files.
function(ingot_find_library name header library)
  find_path(INGOT_${name}_INCLUDE ${header} REQUIRED)
  find_library(INGOT_${name}_LIBRARY ${library} REQUIRED)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE "${INGOT_${name}_INCLUDE}")
  target_link_libraries(${name} INTERFACE "${INGOT_${name}_LIBRARY}")
endfunction()

# ingot_find_header_library(NAME HEADER): the same for a library that is only headers.
function(ingot_find_header_library name header)
  find_path(INGOT_${name}_INCLUDE ${header} REQUIRED)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE "${INGOT_${name}_INCLUDE}")
endfunction()

function(ingot_check_sorted what)
  set(sorted ${ARGN})
  list(SORT sorted)
  if(NOT "${sorted}" STREQUAL "${ARGN}")
    message(FATAL_ERROR "${what}: SOURCES must be sorted: ${sorted}")
  endif()
endfunction()

function(ingot_link target deps libs)
  list(TRANSFORM deps PREPEND ingot_)
  target_link_libraries(${target} PUBLIC ${deps} ${libs} ingot_settings)
endfunction()

# ingot_library(NAME [NO_TESTS] [SOURCES a.cc b.cc] [DEPS base ...] [LIBS fmt::fmt ...]
#               [TEST_LIBS ...] [TEST_DEPS ...])
#   Makes ingot_NAME from a sorted list of sources (none: a library of headers), linked with the
#   layers ingot_DEPS and foreign LIBS; the folder's *_test.cc become ingot_NAME_test, but for
#   NO_TESTS.
function(ingot_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_TESTS" "" "SOURCES;DEPS;LIBS;TEST_LIBS;TEST_DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ingot_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  ingot_check_sorted("ingot_library(${name})" ${arg_SOURCES})
  if(arg_SOURCES)
    add_library(ingot_${name} STATIC ${arg_SOURCES})
    ingot_link(ingot_${name} "${arg_DEPS}" "${arg_LIBS}")
    set_target_properties(ingot_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
      CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
      CXX_EXTENSIONS OFF)
  else()
    add_library(ingot_${name} INTERFACE)
    set(deps ${arg_DEPS})
    list(TRANSFORM deps PREPEND ingot_)
    target_link_libraries(ingot_${name} INTERFACE ${deps} ${arg_LIBS} ingot_settings)
  endif()

  file(GLOB tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc")
  if(tests AND INGOT_TESTS AND NOT arg_NO_TESTS)
    ingot_test(${name}_test SOURCES ${tests} DEPS ${name} ${arg_TEST_DEPS} LIBS ${arg_TEST_LIBS})
  endif()
endfunction()

# ingot_program(NAME SOURCES ... [DEPS ...] [LIBS ...]): makes the executable NAME.
function(ingot_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBS")
  ingot_check_sorted("ingot_program(${name})" ${arg_SOURCES})
  add_executable(${name} ${arg_SOURCES})
  ingot_link(${name} "${arg_DEPS}" "${arg_LIBS}")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
endfunction()

# What the tests compile generated code with, as INGOT_CXX: the second compiler when it builds the
# tests, otherwise the one that is found first, as users have it.
set(INGOT_TEST_CXX "")
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(INGOT_TEST_CXX "${CMAKE_CXX_COMPILER}")
endif()
add_library(ingot_test_cxx INTERFACE)
target_compile_definitions(ingot_test_cxx INTERFACE INGOT_TEST_CXX="${INGOT_TEST_CXX}")

# ingot_test(NAME SOURCES ... [DEPS ...] [LIBS ...]): makes the GoogleTest binary ingot_NAME and
#   registers each of its tests with ctest. Tests run in their binary's build folder. Their names
#   hold no values, of which many are addresses: ctest starts the longest tests of the last run
#   first, and knows them by name.
function(ingot_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBS")
  if(NOT INGOT_TESTS)
    return()
  endif()
  ingot_program(ingot_${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS}
    LIBS ${arg_LIBS} GTest::gtest_main)
  target_compile_definitions(ingot_${name} PRIVATE
    INGOT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" INGOT_BUILD_DIR="${PROJECT_BINARY_DIR}")
  string(REGEX REPLACE "_test$" "" prefix ${name})
  gtest_discover_tests(ingot_${name} TEST_PREFIX "${prefix}." NO_PRETTY_VALUES
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 PROPERTIES LABELS ${prefix})
endfunction()

# ingot_fuzzer(NAME SOURCES ... [DEPS ...] [LIBS ...] [SEEDS folder ...]): makes fuzz_NAME of a
#   source that defines LLVMFuzzerTestOneInput, and the test fuzz.NAME. With INGOT_FUZZ it is a
#   libFuzzer program whose corpus, begun with the seeds, grows in the build folder from run to run;
#   otherwise fuzz/driver.cc mutates the seeds a fixed number of times. The target `fuzzers` builds
#   all of them.
function(ingot_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBS;SEEDS")
  if(NOT INGOT_TESTS)
    return()
  endif()
  if(INGOT_FUZZ)
    ingot_program(fuzz_${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} LIBS ${arg_LIBS})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set(corpus "${CMAKE_CURRENT_BINARY_DIR}/corpus/${name}")
    set(copies COMMAND ${CMAKE_COMMAND} -E make_directory "${corpus}")
    foreach(seed IN LISTS arg_SEEDS)
      set(how copy)
      if(IS_DIRECTORY "${seed}")
        set(how copy_directory)
      endif()
      list(APPEND copies COMMAND ${CMAKE_COMMAND} -E ${how} "${seed}" "${corpus}")
    endforeach()
    add_custom_target(fuzz_${name}_corpus ${copies} VERBATIM)
    add_dependencies(fuzz_${name} fuzz_${name}_corpus)
    add_test(NAME fuzz.${name}
      COMMAND fuzz_${name} -runs=20000 -seed=1 -rss_limit_mb=2048 -timeout=10 "${corpus}")
  else()
    list(APPEND arg_SOURCES "${PROJECT_SOURCE_DIR}/fuzz/driver.cc")
    list(SORT arg_SOURCES)
    ingot_program(fuzz_${name} SOURCES ${arg_SOURCES} DEPS base ${arg_DEPS} LIBS ${arg_LIBS})
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} 2000 1 ${arg_SEEDS})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers fuzz_${name})
endfunction()

# ingot_benchmark(NAME SOURCES ... [DEPS ...] [LIBS ...]): makes bench_NAME with Google Benchmark.
function(ingot_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBS")
  ingot_program(bench_${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS}
    LIBS ${arg_LIBS} benchmark::benchmark_main)
endfunction()
