# Debian packages by CPack: one for each component that is installed. Configure with .cmake/package.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL tenure libtenure1 libtenure-dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # it would stand before that of each package
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
	OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The tenure maintainers <maintainers@users.noreply.a-seed-1e39c8dc.example>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)

set(CPACK_DEBIAN_TENURE_PACKAGE_NAME tenure)
set(CPACK_DEBIAN_TENURE_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_TENURE_PACKAGE_SHLIBDEPS ON)
# The user is made by systemd-sysusers, which a host without systemd has in a package of its own.
set(CPACK_DEBIAN_TENURE_PACKAGE_DEPENDS "systemd-standalone-sysusers | systemd")
set(CPACK_DEBIAN_TENURE_DESCRIPTION "leader election for services, through ZooKeeper
One agent, tenured, runs beside each copy of a service of which exactly one
may be active. The agents elect a leader through Apache ZooKeeper; the
leader's agent runs hook scripts, or the service itself, when it gains
leadership and again when it loses it. Every term of office is bounded by a
lease and numbered by a fencing token.")

set(CPACK_DEBIAN_LIBTENURE1_PACKAGE_NAME libtenure1)
set(CPACK_DEBIAN_LIBTENURE1_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBTENURE1_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBTENURE1_DESCRIPTION "leader election through ZooKeeper, shared library
The decisions of the leader election agent tenured as a library: names and
order of the queue, the arithmetic of the lease, the records, and a gate that
lets no token from the past through.")

set(CPACK_DEBIAN_LIBTENURE-DEV_PACKAGE_NAME libtenure-dev)
set(CPACK_DEBIAN_LIBTENURE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBTENURE-DEV_PACKAGE_DEPENDS "libjansson-dev, libzookeeper-mt-dev")
set(CPACK_COMPONENT_LIBTENURE-DEV_DEPENDS libtenure1)
set(CPACK_DEBIAN_LIBTENURE-DEV_DESCRIPTION "leader election through ZooKeeper, development files
Headers, the static library, and what pkg-config and CMake need to know, for
programs that use libtenure.")

set(control ${CMAKE_CURRENT_LIST_DIR}/control)
file(GLOB conffiles CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/etc ${PROJECT_SOURCE_DIR}/etc/hooks/*)
list(FILTER conffiles EXCLUDE REGEX "\\.md$")
list(TRANSFORM conffiles PREPEND /etc/tenure/)
list(JOIN conffiles "\n" conffiles)
file(CONFIGURE OUTPUT conffiles CONTENT "/etc/init.d/tenured\n/etc/tenure/tenured.conf\n@conffiles@\n" @ONLY)
set(CPACK_DEBIAN_TENURE_PACKAGE_CONTROL_EXTRA
	${CMAKE_CURRENT_BINARY_DIR}/conffiles ${control}/postinst ${control}/prerm ${control}/postrm)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/shlibs CONTENT "libtenure 1 libtenure1 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBTENURE1_PACKAGE_CONTROL_EXTRA ${control}/triggers ${CMAKE_CURRENT_BINARY_DIR}/shlibs)

# Every package has its own copy of both.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
	install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright ${CMAKE_CURRENT_LIST_DIR}/changelog
		DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
endforeach()

set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/check.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/compress.cmake)
set(CPACK_TENURE_PREFIX "${CMAKE_INSTALL_PREFIX}")
include(CPack)
