# Makes the pages of tollgate_dashboard and tollgate_console and writes them as C++. The dashboard is one file; the console
# has its script and its style beside it, so that its policy allows no inline code:
#
#   cmake -DESBUILD=PROGRAM -DCHARTJS=FILE -DCHARTJS_LICENCE=FILE -DSOURCE=module/dashboard -DOUTPUT=FILE.cpp \
#       -P make_pages.cmake

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

# A Content-Security-Policy that allows only the page's script, its style, its icon, and requests to its own host.
function(policy script style out)
    string(CONCAT text
        "default-src 'none'; script-src ${script}; style-src ${style}; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Reads a page, with its icon, and splits it at a placeholder.
function(split page placeholder out_before out_after)
    file(READ ${SOURCE}/${page} text)
    file(READ ${SOURCE}/icon.svg icon)
    string(STRIP "${icon}" icon)
    foreach(character < > "#")
        string(HEX "${character}" code)
        string(TOUPPER "%${code}" code)
        string(REPLACE "${character}" "${code}" icon "${icon}")
    endforeach()
    string(REPLACE "<!-- icon -->" "<link rel=\"icon\" href=\"data:image/svg+xml,${icon}\">" text "${text}")
    string(FIND "${text}" ${placeholder} at)
    string(SUBSTRING "${text}" 0 ${at} before)
    string(LENGTH ${placeholder} length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${text}" ${at} -1 after)
    set(${out_before} "${before}" PARENT_SCOPE)
    set(${out_after} "${after}" PARENT_SCOPE)
endfunction()

bundle(page.css style)
bundle(src/main.js script)
hash_source("${style}" style_hash)
hash_source("${script}" script_hash)
policy("${script_hash}" "${style_hash}" policy)
split(page.html STATUS_URI before after)
file(READ ${CHARTJS_LICENCE} licence)
string(STRIP "${licence}" licence)
# Placeholders are searched for in page.html only, because the inserted texts may contain the same words.
string(REPLACE "<!-- licence -->" "<!-- Chart.js:\n${licence}\n-->" after "${after}")
string(REPLACE "<!-- style -->" "<style>${style}</style>" after "${after}")
string(REPLACE "<!-- script -->" "<script>${script}</script>" after "${after}")

bundle(console/page.css console_style)
bundle(console/src/main.js console_script)
policy("'self'" "'self'" console_policy)
split(console/page.html ADMIN_URI console_before console_after)

foreach(text before after policy console_before console_after console_policy console_script console_style)
    literal("${${text}}" ${text})
endforeach()

file(WRITE ${OUTPUT} "// Made by make_pages.cmake.

#include \"module/report/web_pages.hpp\"

namespace tollgate {

const PageTemplate* dashboard_template() {
    static constexpr PageTemplate kTemplate{
    ${before},
    ${after},
    ${policy}};
    return &kTemplate;
}

const PageTemplate* console_template() {
    static constexpr PageTemplate kTemplate{
    ${console_before},
    ${console_after},
    ${console_policy},
    ${console_script},
    ${console_style}};
    return &kTemplate;
}

}  // namespace tollgate
")
