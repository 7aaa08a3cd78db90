# Address and undefined behaviour: cmake -C .cmake/asan.cmake -B build/asan
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(TENURE_WERROR ON CACHE BOOL "")
set(CMAKE_C_FLAGS "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" CACHE STRING "")
