# Fuzzers, by clang's libFuzzer: cmake -C .cmake/fuzz.cmake -B build/fuzz
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(TENURE_WERROR ON CACHE BOOL "")
set(TENURE_FUZZ ON CACHE BOOL "")
set(CMAKE_C_FLAGS "-O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" CACHE STRING "")
