# Run by cpack after it has packed: writes the SBOM beside the packages.

execute_process(COMMAND perl ${CMAKE_CURRENT_LIST_DIR}/sbom ${CPACK_SOURCE_DATE} ${CPACK_PACKAGE_FILES}
                OUTPUT_FILE ${CPACK_PACKAGE_DIRECTORY}/tollgate.cdx.json COMMAND_ERROR_IS_FATAL ANY)
