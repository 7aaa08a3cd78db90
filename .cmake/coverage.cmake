# Lines run by the tests: cmake -C .cmake/coverage.cmake -B build/coverage
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(TENURE_WERROR ON CACHE BOOL "")
set(CMAKE_C_FLAGS "--coverage -O0 -fno-omit-frame-pointer" CACHE STRING "")
