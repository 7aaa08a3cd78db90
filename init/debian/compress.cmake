# Read by cpack before it packs what stands there, a folder for each package: compresses what Debian wants compressed,
# and strips what the installation has not.
set(usr ${CPACK_TEMPORARY_DIRECTORY}/*/usr)
file(GLOB texts ${usr}/share/man/man*/* ${usr}/share/doc/*/changelog)
file(GLOB_RECURSE archives ${usr}/lib/*.a)
foreach(text IN LISTS texts)
	execute_process(COMMAND gzip -9n ${text} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(archive IN LISTS archives)
	execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
