# Threads: cmake -C .cmake/tsan.cmake -B build/tsan
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(TENURE_WERROR ON CACHE BOOL "")
set(CMAKE_C_FLAGS "-fsanitize=thread -fno-sanitize-recover=all -fno-omit-frame-pointer" CACHE STRING "")
