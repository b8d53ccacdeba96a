# Defines what is installed, and the Debian packages that `cpack -G DEB` makes in a build directory: the gateway's
# module, the pet store's module, and the tollgate command. Beside them, cpack writes a software bill of materials.

set(DEBIAN_FILES ${CMAKE_SOURCE_DIR}/conf/debian)
set(GATEWAY_PACKAGE libnginx-mod-http-tollgate)
set(PETSTORE_PACKAGE libnginx-mod-http-petstore)
set(COMMAND_PACKAGE tollgate)

# --- what is installed -----------------------------------------------------------------------------------------------

# Installs FILE as NAME in FOLDER, if it exists at that time. If NAME ends in .gz, the file is compressed without a time
# stamp, as Debian's policy requires for documents.
function(install_if_made component file folder name)
    string(CONCAT names "set(file [[${file}]])\nset(folder [[${folder}]])\nset(name [[${name}]])\n"
        "set(compressed [[${CMAKE_BINARY_DIR}/compressed]])")
    install(CODE "${names}" COMPONENT ${component})
    install(CODE [[
        if(EXISTS "${file}")
            if(name MATCHES "\\.gz$")
                execute_process(COMMAND gzip -9nc "${file}" OUTPUT_FILE "${compressed}" COMMAND_ERROR_IS_FATAL ANY)
                set(file "${compressed}")
            endif()
            file(INSTALL "${file}" DESTINATION "${CMAKE_INSTALL_PREFIX}/${folder}" RENAME "${name}")
        endif()
    ]] COMPONENT ${component})
endfunction()

# Required by Debian's policy for each package.
function(install_debian_documents component)
    string(TOUPPER ${component} COMPONENT)
    set(PACKAGE ${${COMPONENT}_PACKAGE})
    install(FILES ${DEBIAN_FILES}/copyright DESTINATION share/doc/${PACKAGE} COMPONENT ${component})
    install_if_made(${component} ${CMAKE_SOURCE_DIR}/module/CHANGELOG.md share/doc/${PACKAGE} changelog.gz)
    install_if_made(${component} ${DEBIAN_FILES}/changelog share/doc/${PACKAGE} changelog.Debian.gz)
    configure_file(${DEBIAN_FILES}/lintian-overrides.in ${CMAKE_BINARY_DIR}/debian/${PACKAGE}/lintian-overrides @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/debian/${PACKAGE}/lintian-overrides DESTINATION share/lintian/overrides
            RENAME ${PACKAGE} COMPONENT ${component})
endfunction()

install_debian_documents(gateway)
install_debian_documents(petstore)
install_debian_documents(command)

# nginx's modules are in lib, not in a folder of the architecture.
install(TARGETS ngx_http_tollgate_module LIBRARY DESTINATION lib/nginx/modules COMPONENT gateway)
install(FILES ${DEBIAN_FILES}/mod-http-tollgate.conf DESTINATION share/nginx/modules-available COMPONENT gateway)
# Not an example: documents may be left out of an installation (path-exclude of dpkg), and nginx would not start.
install(FILES ${CMAKE_SOURCE_DIR}/conf/log-json.conf DESTINATION /etc/nginx/snippets RENAME tollgate-log-json.conf
        COMPONENT gateway)
install(TARGETS ngx_http_petstore_module LIBRARY DESTINATION lib/nginx/modules COMPONENT petstore)
install(FILES ${DEBIAN_FILES}/mod-http-petstore.conf DESTINATION share/nginx/modules-available COMPONENT petstore)

# The documents keep their folders, because they link to each other. Documents for contributors are not packaged, nor are
# the lines of README.md that link to them.
set(GATEWAY_DOC share/doc/${GATEWAY_PACKAGE})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/README.md)
file(READ ${CMAKE_SOURCE_DIR}/README.md readme)
string(REGEX REPLACE "\n- \\[\\.github/[^\n]*" "" readme "${readme}")
string(REGEX REPLACE "\nHow we know: [^\n]*\n[^\n]+\n" "" readme "${readme}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/debian/README.md CONTENT "${readme}" @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/debian/README.md DESTINATION ${GATEWAY_DOC} COMPONENT gateway)
foreach(part module backend)
    file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${part}/*.md)
    install(FILES ${pages} DESTINATION ${GATEWAY_DOC}/${part} COMPONENT gateway)
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/module/docs ${CMAKE_SOURCE_DIR}/module/images DESTINATION ${GATEWAY_DOC}/module
        COMPONENT gateway)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/conf/ DESTINATION ${GATEWAY_DOC}/examples COMPONENT gateway
        FILES_MATCHING PATTERN "*.conf" PATTERN "*.json" PATTERN "*.yml" PATTERN debian EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/backend/README.md DESTINATION share/doc/${PETSTORE_PACKAGE} COMPONENT petstore)
install(FILES ${CMAKE_SOURCE_DIR}/conf/backend.conf ${CMAKE_SOURCE_DIR}/conf/openapi.json
        DESTINATION share/doc/${PETSTORE_PACKAGE}/examples COMPONENT petstore)

install(TARGETS tollgate RUNTIME DESTINATION bin COMPONENT command)
install(FILES ${TOLLGATE_COMPLETION}/tollgate.bash DESTINATION share/bash-completion/completions RENAME tollgate
        COMPONENT command)
install(FILES ${TOLLGATE_COMPLETION}/_tollgate DESTINATION share/zsh/vendor-completions COMPONENT command)
install(FILES ${DEBIAN_FILES}/tollgate.conf DESTINATION /etc/tollgate COMPONENT command)
# It is not enabled: it needs the URL of a receiver and a secret.
install(FILES ${DEBIAN_FILES}/tollgate-notify.service DESTINATION lib/systemd/system COMPONENT command)
install_if_made(command ${TOLLGATE_MAN} share/man/man1 tollgate.1.gz)

# A package needs no tests, so it depends on this target instead of all.
option(DEBIAN_FLAGS "Set by conf/debian/configure: the flags are those of Debian's packages" OFF)
mark_as_advanced(DEBIAN_FLAGS)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
add_custom_target(package_contents DEPENDS ngx_http_tollgate_module ngx_http_petstore_module tollgate)
cmake_host_system_information(RESULT CORES QUERY NUMBER_OF_LOGICAL_CORES)
set(CPACK_INSTALL_COMMANDS
    "\"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --parallel ${CORES} --target package_contents")
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};ALL;/")

# --- the packages ----------------------------------------------------------------------------------------------------

# Packages have the flags of Debian's packages.
if(NOT DEBIAN_FLAGS)
    message(STATUS "No Debian package: conf/debian/configure sets the flags of Debian's packages")
    return()
endif()

# Debian's nginx provides a name for its binary interface, and modules depend on it. There is no package for an nginx
# without this name, or with headers that are not Debian's.
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

# Debian's version is at the top of the changelog, as Debian requires: UPSTREAM-REVISION.
file(STRINGS ${DEBIAN_FILES}/changelog DEBIAN_VERSION LIMIT_COUNT 1)
string(REGEX MATCH "\\(([0-9.]+)-([^)]+)\\)" DEBIAN_VERSION "${DEBIAN_VERSION}")
set(CPACK_PACKAGE_VERSION ${CMAKE_MATCH_1})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${CMAKE_MATCH_2})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${DEBIAN_FILES}/changelog)

set(CPACK_GENERATOR DEB)
set(CPACK_PRE_BUILD_SCRIPTS ${DEBIAN_FILES}/before_packing.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${DEBIAN_FILES}/after_packing.cmake)
execute_process(COMMAND dpkg-parsechangelog -l ${DEBIAN_FILES}/changelog -S Timestamp
                OUTPUT_VARIABLE CPACK_SOURCE_DATE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_TOLLGATE_BUILD ${CMAKE_BINARY_DIR})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME tollgate)
set(CPACK_PACKAGE_VENDOR "The Tollgate authors")
set(CPACK_PACKAGE_CONTACT "The Tollgate authors <authors@tollgate.example>" CACHE STRING "The packages' maintainer")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL gateway petstore command)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE tollgate)
set(CPACK_DEBIAN_PACKAGE_SECTION httpd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The scripts that dpkg runs when it installs and removes the package of an nginx module. CONF is loaded after the first
# installation if ENABLED is `yes`. DIRECTIVES is a regular expression for the directives that are removed with the
# module, VARIABLES is empty or `|` and one for its variables.
function(add_module_scripts PACKAGE CONF ENABLED DIRECTIVES VARIABLES)
    foreach(script postinst prerm postrm)
        configure_file(${DEBIAN_FILES}/${script}.in ${CMAKE_BINARY_DIR}/debian/${PACKAGE}/${script} @ONLY)
    endforeach()
endfunction()

add_module_scripts(${GATEWAY_PACKAGE} mod-http-tollgate.conf yes "tollgate(_[a-z_]+)?" "|[$][{]?tollgate_")
set(gateway_scripts ${CMAKE_BINARY_DIR}/debian/${GATEWAY_PACKAGE})
set(CPACK_DEBIAN_GATEWAY_PACKAGE_NAME ${GATEWAY_PACKAGE})
set(CPACK_DEBIAN_GATEWAY_PACKAGE_DEPENDS ${NGINX_ABI})
set(CPACK_DEBIAN_GATEWAY_PACKAGE_RECOMMENDS "nginx, ${COMMAND_PACKAGE}")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_SUGGESTS redis-server)
set(CPACK_DEBIAN_GATEWAY_PACKAGE_CONTROL_EXTRA
    ${DEBIAN_FILES}/gateway/conffiles ${gateway_scripts}/postinst ${gateway_scripts}/prerm ${gateway_scripts}/postrm)
set(CPACK_DEBIAN_GATEWAY_DESCRIPTION
"API keys, plans and quotas for nginx
Turns nginx into an API gateway: it authenticates API keys sent as bearer
tokens, holds each key to the quotas of its plan over all nodes, counted in
Redis, and answers 401 and 429 before a request is proxied.

The package holds the gateway's module. The package tollgate has the command
that issues and revokes keys.")

add_module_scripts(${PETSTORE_PACKAGE} mod-http-petstore.conf no petstore "")
set(petstore_scripts ${CMAKE_BINARY_DIR}/debian/${PETSTORE_PACKAGE})
set(CPACK_DEBIAN_PETSTORE_PACKAGE_NAME ${PETSTORE_PACKAGE})
set(CPACK_DEBIAN_PETSTORE_PACKAGE_DEPENDS ${NGINX_ABI})
set(CPACK_DEBIAN_PETSTORE_PACKAGE_RECOMMENDS nginx)
set(CPACK_DEBIAN_PETSTORE_PACKAGE_CONTROL_EXTRA
    ${petstore_scripts}/postinst ${petstore_scripts}/prerm ${petstore_scripts}/postrm)
set(CPACK_DEBIAN_PETSTORE_DESCRIPTION
"example service for the Tollgate gateway
An nginx module that serves pets as JSON from an SQLite file. It is a service
to try the Tollgate gateway with, and not enabled when it is installed.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME ${COMMAND_PACKAGE})
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(command_scripts ${DEBIAN_FILES}/command)
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA ${command_scripts}/conffiles
    ${command_scripts}/postinst ${command_scripts}/prerm ${command_scripts}/postrm)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION
"API keys of the Tollgate gateway: issue, change, revoke
The command that issues, rotates and revokes the API keys of a Tollgate
gateway, and shows the use of their quotas. It works on the gateway's Redis,
from any machine that reaches it: nginx is not needed.")
include(CPack)
