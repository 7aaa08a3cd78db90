# Lines run by the tests: tests/coverage
set(CMAKE_C_COMPILER gcc CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(TENURE_WERROR ON CACHE BOOL "")
set(CMAKE_C_FLAGS "--coverage -O0 -include ${CMAKE_CURRENT_LIST_DIR}/../tests/support/coverage.h" CACHE STRING "")
