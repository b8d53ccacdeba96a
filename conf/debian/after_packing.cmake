# Run by cpack after it has packed.

# The parts of a package have modes according to the umask. ar writes them again, with the same modes and times always.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
    set(parts ${CPACK_TEMPORARY_DIRECTORY}/parts)
    file(REMOVE_RECURSE ${parts})
    file(MAKE_DIRECTORY ${parts})
    execute_process(COMMAND ar t ${package} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" names "${names}")
    execute_process(COMMAND ar x ${package} WORKING_DIRECTORY ${parts} COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE ${package})
    execute_process(COMMAND ar rcSD ${package} ${names} WORKING_DIRECTORY ${parts} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

execute_process(COMMAND perl ${CMAKE_CURRENT_LIST_DIR}/sbom ${CPACK_SOURCE_DATE} ${CPACK_TOLLGATE_BUILD}
                        ${CPACK_PACKAGE_FILES}
                OUTPUT_FILE ${CPACK_PACKAGE_DIRECTORY}/tollgate.cdx.json COMMAND_ERROR_IS_FATAL ANY)
