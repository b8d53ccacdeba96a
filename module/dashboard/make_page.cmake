# Makes the page of tollgate_dashboard one file and writes it as C++:
#
#   cmake -DESBUILD=PROGRAM -DCHARTJS=FILE -DCHARTJS_LICENCE=FILE -DSOURCE=module/dashboard -DOUTPUT=FILE.cpp \
#       -P make_page.cmake

cmake_minimum_required(VERSION 3.25)

# What esbuild makes of a file and of all that it imports, with the comments that name authors and licences.
function(bundle entry out)
    execute_process(
        COMMAND ${ESBUILD} ${SOURCE}/${entry} --bundle --minify --format=iife --target=es2022 --charset=utf8
            --alias:chart.js=${CHARTJS} --legal-comments=eof --log-level=warning
        OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(STRIP "${text}" text)
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# A source of a Content-Security-Policy: the SHA-256 of a text, in Base64, which CMake doesn't write by itself.
function(hash_source text out)
    set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    string(SHA256 hash "${text}")
    # Three bytes are four digits. 32 bytes want one more, whose digit is "=".
    string(APPEND hash 00)
    set(base64 "")
    foreach(start RANGE 0 60 6)
        string(SUBSTRING ${hash} ${start} 6 bytes)
        foreach(shift 18 12 6 0)
            math(EXPR digit "(0x${bytes} >> ${shift}) & 63")
            string(SUBSTRING ${digits} ${digit} 1 digit)
            string(APPEND base64 ${digit})
        endforeach()
    endforeach()
    string(REGEX REPLACE ".$" "=" base64 ${base64})
    set(${out} "'sha256-${base64}'" PARENT_SCOPE)
endfunction()

# A string literal of C++: an escape for each byte, a hundred of them on a line.
function(literal text out)
    string(HEX "${text}" bytes)
    string(LENGTH "${bytes}" length)
    set(lines "")
    set(start 0)
    while(start LESS length)
        string(SUBSTRING "${bytes}" ${start} 200 line)
        string(REGEX REPLACE "(..)" "\\\\x\\1" line "${line}")
        string(APPEND lines "    \"${line}\"\n")
        math(EXPR start "${start} + 200")
    endwhile()
    string(STRIP "${lines}" lines)
    set(${out} "${lines}" PARENT_SCOPE)
endfunction()

bundle(page.css style)
bundle(src/main.js script)
hash_source("${style}" style_hash)
hash_source("${script}" script_hash)
file(READ ${CHARTJS_LICENCE} licence)
string(STRIP "${licence}" licence)

# Nothing is allowed but these two texts, the page's own icon, and questions to the page's own host.
string(CONCAT policy
    "default-src 'none'; script-src ${script_hash}; style-src ${style_hash}; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'")

file(READ ${SOURCE}/page.html page)
string(REPLACE "<!-- licence -->" "<!-- Chart.js:\n${licence}\n-->" page "${page}")
# The address is looked for in page.html alone: what is put into it may hold the same word.
string(FIND "${page}" STATUS_URI at)
string(SUBSTRING "${page}" 0 ${at} before)
string(LENGTH STATUS_URI length)
math(EXPR at "${at} + ${length}")
string(SUBSTRING "${page}" ${at} -1 after)
string(REPLACE "<!-- style -->" "<style>${style}</style>" after "${after}")
string(REPLACE "<!-- script -->" "<script>${script}</script>" after "${after}")
literal("${before}" before)
literal("${after}" after)
literal("${policy}" policy)

file(WRITE ${OUTPUT} "// Made by make_page.cmake.

#include \"module/report/dashboard_page.hpp\"

namespace tollgate {

const DashboardTemplate* dashboard_template() {
    static constexpr DashboardTemplate kTemplate{
    ${before},
    ${after},
    ${policy}};
    return &kTemplate;
}

}  // namespace tollgate
")
