# Builds the pages of tollgate_dashboard and tollgate_console. PAGE_TEMPLATES is the generated C++ file, or its replacement in a build
# with -DDASHBOARD=OFF. ESBUILD is the program, CHARTJS the ES module of Chart.js, CHARTJS_LICENCE its licence. Set them
# if they are not in Debian's locations.

option(DASHBOARD "Build the pages of tollgate_dashboard and tollgate_console, which need esbuild and Chart.js" ON)

set(PAGE_TEMPLATES module/report/no_page_templates.cpp)
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
            "The pages of tollgate_dashboard and tollgate_console can't be built. Install the Debian packages that are missing:"
            "${dashboard_missing}. Or build without the pages: cmake -DDASHBOARD=OFF")
    endif()
    set(dashboard_source ${CMAKE_SOURCE_DIR}/module/dashboard)
    set(PAGE_TEMPLATES ${CMAKE_BINARY_DIR}/page_templates.cpp)
    file(GLOB dashboard_inputs CONFIGURE_DEPENDS ${dashboard_source}/*.html ${dashboard_source}/*.css ${dashboard_source}/*.svg
         ${dashboard_source}/src/*.js ${dashboard_source}/console/*.html ${dashboard_source}/console/*.css
         ${dashboard_source}/console/src/*.js)
    add_custom_command(
        OUTPUT ${PAGE_TEMPLATES}
        COMMAND ${CMAKE_COMMAND} -DESBUILD=${ESBUILD} -DCHARTJS=${CHARTJS} -DCHARTJS_LICENCE=${CHARTJS_LICENCE}
            -DSOURCE=${dashboard_source} -DOUTPUT=${PAGE_TEMPLATES} -P ${dashboard_source}/make_pages.cmake
        DEPENDS ${dashboard_inputs} ${CHARTJS} ${CHARTJS_LICENCE} ${dashboard_source}/make_pages.cmake
        VERBATIM)
endif()
