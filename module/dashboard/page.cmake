# Builds the page of tollgate_dashboard where npm is there: DASHBOARD_TEMPLATE is the C++ file that will hold it, or the
# one that stands in for it.

option(DASHBOARD "Build the page of tollgate_dashboard, with packages of npm" ON)
find_program(NODE NAMES node nodejs)
find_program(NPM npm)

set(DASHBOARD_TEMPLATE module/core/no_dashboard_template.cpp)
set(dashboard_source ${CMAKE_SOURCE_DIR}/module/dashboard)
set(dashboard_build ${CMAKE_BINARY_DIR}/dashboard)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dashboard_source}/package-lock.json)

# What the lock says is fetched once; `installed` remembers which lock that was.
function(install_packages out)
    file(SHA256 ${dashboard_source}/package-lock.json lock)
    set(installed "")
    if(EXISTS ${dashboard_build}/installed)
        file(READ ${dashboard_build}/installed installed)
    endif()
    if(NOT installed STREQUAL lock)
        foreach(name package.json package-lock.json .npmrc)
            configure_file(${dashboard_source}/${name} ${dashboard_build}/${name} COPYONLY)
        endforeach()
        execute_process(
            COMMAND ${NPM} ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
                --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000
            WORKING_DIRECTORY ${dashboard_build} OUTPUT_FILE npm.log ERROR_FILE npm.log
            RESULT_VARIABLE result TIMEOUT 300)
        if(NOT result EQUAL 0)
            set(${out} FALSE PARENT_SCOPE)
            return()
        endif()
        file(WRITE ${dashboard_build}/installed ${lock})
    endif()
    set(${out} TRUE PARENT_SCOPE)
endfunction()

if(NOT DASHBOARD OR NOT NODE OR NOT NPM)
    message(STATUS "tollgate_dashboard: without its page, for which DASHBOARD, node and npm are needed")
else()
    install_packages(dashboard_packages)
    if(NOT dashboard_packages)
        message(WARNING "tollgate_dashboard: without its page, since npm failed: see ${dashboard_build}/npm.log")
    else()
        set(DASHBOARD_TEMPLATE ${dashboard_build}/dashboard_template.cpp)
        file(GLOB dashboard_inputs CONFIGURE_DEPENDS ${dashboard_source}/page.* ${dashboard_source}/src/*.js)
        add_custom_command(
            OUTPUT ${DASHBOARD_TEMPLATE}
            COMMAND ${NODE} ${dashboard_source}/build.mjs ${dashboard_build} ${DASHBOARD_TEMPLATE}
            DEPENDS ${dashboard_inputs} ${dashboard_source}/build.mjs ${dashboard_build}/installed
            VERBATIM)
    endif()
endif()
