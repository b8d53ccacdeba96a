# Combines the page of tollgate_dashboard into one file and writes it as C++:
#
#   cmake -DESBUILD=PROGRAM -DCHARTJS=FILE -DCHARTJS_LICENCE=FILE -DSOURCE=module/dashboard -DOUTPUT=FILE.cpp \
#       -P make_page.cmake

cmake_minimum_required(VERSION 3.25)

# Bundles a file and its imports with esbuild, and keeps the comments with authors and licences.
function(bundle entry out)
    execute_process(
        COMMAND ${ESBUILD} ${SOURCE}/${entry} --bundle --minify --format=iife --target=es2022 --charset=utf8
            --alias:chart.js=${CHARTJS} --legal-comments=eof --log-level=warning
        OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(STRIP "${text}" text)
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# A source expression of a Content-Security-Policy: the SHA-256 of a text in Base64, which CMake has no function for.
function(hash_source text out)
    set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    string(SHA256 hash "${text}")
    # Three bytes are four digits. 32 bytes need one byte of padding, whose digit is "=".
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

# A C++ string literal: an escape for each byte, one hundred per line.
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

# Allows only the page's script, its style, its icon, and requests to its own host.
string(CONCAT policy
    "default-src 'none'; script-src ${script_hash}; style-src ${style_hash}; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'")

file(READ ${SOURCE}/page.html page)
string(REPLACE "<!-- licence -->" "<!-- Chart.js:\n${licence}\n-->" page "${page}")
# The placeholder is searched for in page.html only, because the inserted texts may contain the same word.
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
