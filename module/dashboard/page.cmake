# Builds the page of tollgate_dashboard. DASHBOARD_TEMPLATE is the generated C++ file, or its replacement in a build
# with -DDASHBOARD=OFF. ESBUILD is the program, CHARTJS the ES module of Chart.js, CHARTJS_LICENCE its licence. Set them
# if they are not in Debian's locations.

option(DASHBOARD "Build the page of tollgate_dashboard, which needs esbuild and Chart.js" ON)

set(DASHBOARD_TEMPLATE module/report/no_dashboard_template.cpp)
if(DASHBOARD)
    find_program(ESBUILD esbuild)
    find_file(CHARTJS NAMES chart.esm.js chart.mjs NO_DEFAULT_PATH
              PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist)
    find_file(CHARTJS_LICENCE copyright NO_DEFAULT_PATH PATHS /usr/share/doc/libjs-chart.js /usr/share/doc/node-chart.js)
    set(dashboard_missing "")
    if(NOT ESBUILD)
        string(APPEND dashboard_missing " esbuild")
    endif()
    if(NOT CHARTJS OR NOT CHARTJS_LICENCE)
        string(APPEND dashboard_missing " libjs-chart.js")
    endif()
    if(dashboard_missing)
        message(FATAL_ERROR
            "The page of tollgate_dashboard can't be built. Install the Debian packages that are missing:"
            "${dashboard_missing}. Or build without the page: cmake -DDASHBOARD=OFF")
    endif()
    set(dashboard_source ${CMAKE_SOURCE_DIR}/module/dashboard)
    set(DASHBOARD_TEMPLATE ${CMAKE_BINARY_DIR}/dashboard_template.cpp)
    file(GLOB dashboard_inputs CONFIGURE_DEPENDS ${dashboard_source}/page.html ${dashboard_source}/page.css
         ${dashboard_source}/src/*.js)
    add_custom_command(
        OUTPUT ${DASHBOARD_TEMPLATE}
        COMMAND ${CMAKE_COMMAND} -DESBUILD=${ESBUILD} -DCHARTJS=${CHARTJS} -DCHARTJS_LICENCE=${CHARTJS_LICENCE}
            -DSOURCE=${dashboard_source} -DOUTPUT=${DASHBOARD_TEMPLATE} -P ${dashboard_source}/make_page.cmake
        DEPENDS ${dashboard_inputs} ${CHARTJS} ${CHARTJS_LICENCE} ${dashboard_source}/make_page.cmake
        VERBATIM)
endif()
