# cmake -C .cmake/debug.cmake -B build/debug
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(TENURE_WERROR ON CACHE BOOL "")
set(CMAKE_C_FLAGS "-fno-omit-frame-pointer" CACHE STRING "")
