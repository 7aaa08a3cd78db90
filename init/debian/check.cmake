# Read by cpack first. Paths of another prefix stand in the unit and elsewhere: such a package would not work.
if(NOT CPACK_TENURE_PREFIX STREQUAL "/usr")
	message(FATAL_ERROR "Packages are made from a build for /usr, this one is for ${CPACK_TENURE_PREFIX}: "
		"configure with cmake -C .cmake/package.cmake")
endif()
