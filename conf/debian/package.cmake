# What is installed, and the Debian package that `cpack -G DEB` makes of it in a build directory.

set(PACKAGE libnginx-mod-http-tollgate)
set(DEBIAN_FILES ${CMAKE_SOURCE_DIR}/conf/debian)
set(DOC_FOLDER share/doc/${PACKAGE})

# --- what is installed -----------------------------------------------------------------------------------------------

# nginx's modules lie in lib, not in a folder of the architecture.
install(TARGETS ngx_http_tollgate_module ngx_http_petstore_module LIBRARY DESTINATION lib/nginx/modules)
install(TARGETS tollgate RUNTIME DESTINATION bin)
install(FILES ${DEBIAN_FILES}/mod-http-tollgate.conf ${DEBIAN_FILES}/mod-http-petstore.conf
        DESTINATION share/nginx/modules-available)
install(FILES ${DEBIAN_FILES}/copyright ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${DOC_FOLDER})
# Below the folders that they link to each other by.
foreach(part module backend)
    file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${part}/*.md)
    install(FILES ${pages} DESTINATION ${DOC_FOLDER}/${part})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/conf/ DESTINATION ${DOC_FOLDER}/examples
        FILES_MATCHING PATTERN "*.conf" PATTERN "*.json" PATTERN "*.yml" PATTERN debian EXCLUDE)
install(FILES ${DEBIAN_FILES}/lintian-overrides DESTINATION share/lintian/overrides RENAME ${PACKAGE})

# Installs FILE, if it exists by then, as NAME in FOLDER; where NAME ends in .gz, compressed with no time stamp, as
# Debian's policy wants documents.
function(install_if_made file folder name)
    install(CODE "set(file [[${file}]])\nset(folder [[${folder}]])\nset(name [[${name}]])")
    install(CODE "set(compressed [[${CMAKE_BINARY_DIR}/compressed]])")
    install(CODE [[
        if(EXISTS "${file}")
            if(name MATCHES "\\.gz$")
                execute_process(COMMAND gzip -9nc "${file}" OUTPUT_FILE "${compressed}" COMMAND_ERROR_IS_FATAL ANY)
                set(file "${compressed}")
            endif()
            file(INSTALL "${file}" DESTINATION "${CMAKE_INSTALL_PREFIX}/${folder}" RENAME "${name}")
        endif()
    ]])
endfunction()
install(FILES ${TOLLGATE_COMPLETION}/tollgate.bash DESTINATION share/bash-completion/completions RENAME tollgate)
install(FILES ${TOLLGATE_COMPLETION}/_tollgate DESTINATION share/zsh/vendor-completions)
install_if_made(${TOLLGATE_MAN} share/man/man1 tollgate.1.gz)
install_if_made(${CMAKE_SOURCE_DIR}/module/CHANGELOG.md ${DOC_FOLDER} changelog.gz)
install_if_made(${DEBIAN_FILES}/changelog ${DOC_FOLDER} changelog.Debian.gz)

# A package needs none of the tests: it is made of this target, not of all. It is built as Debian builds packages: by
# this build where conf/debian/configure configured it, else by one of its own.
option(DEBIAN_FLAGS "Set by conf/debian/configure: the flags are those of Debian's packages" OFF)
mark_as_advanced(DEBIAN_FLAGS)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
add_custom_target(package_contents DEPENDS ngx_http_tollgate_module ngx_http_petstore_module tollgate)
cmake_host_system_information(RESULT CORES QUERY NUMBER_OF_LOGICAL_CORES)
set(PACKAGE_BUILD ${CMAKE_BINARY_DIR})
set(CPACK_INSTALL_COMMANDS "")
if(NOT DEBIAN_FLAGS)
    set(PACKAGE_BUILD ${CMAKE_BINARY_DIR}/package)
    set(CPACK_INSTALL_COMMANDS "\"${DEBIAN_FILES}/configure\" \"${PACKAGE_BUILD}\" -DBUILD_TESTING=OFF")
endif()
list(APPEND CPACK_INSTALL_COMMANDS
    "\"${CMAKE_COMMAND}\" --build \"${PACKAGE_BUILD}\" --parallel ${CORES} --target package_contents")
set(CPACK_INSTALL_CMAKE_PROJECTS "${PACKAGE_BUILD};${PROJECT_NAME};ALL;/")

# --- the package -----------------------------------------------------------------------------------------------------

# Debian's nginx provides a name for its binary interface, and modules depend on it. For an nginx that has none, or with
# headers that are not Debian's, there is no package.
execute_process(COMMAND dpkg-query -W -f "\${db:Status-Status} \${Provides}\n"
                OUTPUT_VARIABLE NGINX_PROVIDES ERROR_QUIET)
string(REGEX MATCH "\ninstalled [^\n]*(nginx-abi-[0-9.-]+)" NGINX_PROVIDES "\n${NGINX_PROVIDES}")
set(NGINX_ABI ${CMAKE_MATCH_1})
execute_process(COMMAND dpkg-query -S ${NGINX_SOURCE_DIR}/conf_flags
                OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE NGINX_SOURCE_IS_FOREIGN)
if(NOT NGINX_ABI OR NGINX_SOURCE_IS_FOREIGN)
    message(STATUS "No Debian package: this is not Debian's nginx")
    return()
endif()

# Debian's version stands where Debian looks for it, at the top of the changelog: UPSTREAM-REVISION.
file(STRINGS ${DEBIAN_FILES}/changelog DEBIAN_VERSION LIMIT_COUNT 1)
string(REGEX MATCH "\\(([0-9.]+)-([^)]+)\\)" DEBIAN_VERSION "${DEBIAN_VERSION}")
set(CPACK_PACKAGE_VERSION ${CMAKE_MATCH_1})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${CMAKE_MATCH_2})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${DEBIAN_FILES}/changelog)

set(CPACK_GENERATOR DEB)
set(CPACK_PRE_BUILD_SCRIPTS ${DEBIAN_FILES}/folders.cmake)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME ${PACKAGE})
set(CPACK_PACKAGE_VENDOR "The Tollgate authors")
set(CPACK_PACKAGE_CONTACT "The Tollgate authors <authors@tollgate.example>" CACHE STRING "The package's maintainer")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "API keys, plans and quotas for nginx")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION httpd)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Turns nginx into an API gateway: it authenticates API keys sent as bearer
tokens, holds each key to the quotas of its plan over all nodes, counted in
Redis, and answers 401 and 429 before a request is proxied.

The package holds the gateway's module, the tollgate command that issues and
revokes keys, and the module of a small pet store that serves as an example.")
set(CPACK_DEBIAN_PACKAGE_DEPENDS ${NGINX_ABI})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS nginx)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS redis-server)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${DEBIAN_FILES}/postinst ${DEBIAN_FILES}/prerm ${DEBIAN_FILES}/postrm)
include(CPack)
