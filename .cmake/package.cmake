# Debian packages: cmake -C .cmake/package.cmake -B build/package && cmake --build build/package --target package
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_INSTALL_PREFIX /usr CACHE PATH "")
set(BUILD_TESTING OFF CACHE BOOL "")
